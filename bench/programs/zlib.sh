# zlib: its example, minigzip and infcover, static and shared.
. "$(dirname "$0")/lib.sh"
PACKAGE=zlib
build() { ./configure && make -j2 all && make -j2 infcover; }
own_tests() { make -s test 2>&1 && ./infcover 2>&1; }
WORK=(./minigzip64 -9 -c "$DATA")
compare "$@"
