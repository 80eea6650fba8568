# libpng: its tests, which write, read and transform pictures.
. "$(dirname "$0")/lib.sh"
PACKAGE=libpng1.6
build() { ./configure --disable-shared && make -j2 && make -j2 check TESTS=; }
own_tests() { make check 2>&1 | grep -aE '^(PASS|FAIL|SKIP|XFAIL|ERROR|# )'; }
WORK=(./pngstest --strict contrib/testpngs/rgb-alpha-16-linear.png)
compare "$@"
