# The Boehm collector, which looks for pointers in registers and stacks of all threads: its tests.
. "$(dirname "$0")/lib.sh"
need make
PACKAGE=libgc
build() { ./configure --disable-shared --disable-docs && make -j2 && make -j2 check TESTS=; }
own_tests() { make check 2>&1 | grep -aE '^(PASS|FAIL|SKIP|XFAIL|ERROR):'; }
WORK=(./gctest)
compare "$@"
