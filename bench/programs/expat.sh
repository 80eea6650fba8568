# expat: its tests.
. "$(dirname "$0")/lib.sh"
need autoreconf libtoolize
PACKAGE=expat
build() { cd expat && ./buildconf.sh && ./configure --without-docbook --disable-shared && make -j2 && make -j2 check TESTS=; }
own_tests() { expat/tests/runtests -v 2>&1 && make -C expat check 2>&1 | grep -aE '^(PASS|FAIL|SKIP|XFAIL|ERROR|# )'; }
WORK=(expat/xmlwf/xmlwf expat/doc/reference.html)
compare "$@"
