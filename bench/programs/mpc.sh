# MPC, complex numbers: its tests.
. "$(dirname "$0")/lib.sh"
need make
PACKAGE=mpclib3
build() { ./configure --disable-shared && make -j2 && make -j2 check TESTS=; }
own_tests() { make check 2>&1 | grep -aE '^(PASS|FAIL|SKIP|XFAIL|ERROR|# )'; }
WORK=(tests/tpow)
compare "$@"
