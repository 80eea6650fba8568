# gzip: make check.
. "$(dirname "$0")/lib.sh"
PACKAGE=gzip
build() { ./configure && make -j2; }
own_tests() { make check 2>&1 | grep -aE '^(PASS|FAIL|SKIP|XFAIL|ERROR|# )'; }
WORK=(./gzip -9 -c "$DATA")
compare "$@"
