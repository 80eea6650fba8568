# tcc: its own tests, among them that it compiles itself and what it then compiles is the same.
. "$(dirname "$0")/lib.sh"
PACKAGE=tcc
build() { ./configure --cc="$CC" && make -j2 cross-x86_64 || make -j2; make; }
own_tests() { make -k test 2>&1 | grep -aE '^(-+|Test:|[a-z0-9]+.*(ok|diff|error|FAIL))' | grep -av 'ms\b'; }
WORK=(./tcc -B. -c tcc.c -DONE_SOURCE=1 -o /dev/null)
compare "$@"
