# jq: its tests of the language.
. "$(dirname "$0")/lib.sh"
need autoreconf flex bison
PACKAGE=jq
build() { autoreconf -i && ./configure --disable-docs --disable-maintainer-mode --with-oniguruma=no --disable-shared --enable-all-static=no && make -j2; }
own_tests() { ./jq --run-tests tests/jq.test 2>&1; }
WORK=(./jq -n '[range(200000) | . * 3 % 1001] | group_by(. % 7) | map(add)')
compare "$@"
