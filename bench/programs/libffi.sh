# libffi: its tests of calls and closures, each a program of its own.
. "$(dirname "$0")/lib.sh"
need make
PACKAGE=libffi
build() {
	./configure --disable-docs --disable-shared && make -j2 || return 1
	local t
	for t in testsuite/libffi.call/*.c testsuite/libffi.closures/*.c testsuite/libffi.bhaible/test-c*.c; do
		# shellcheck disable=SC2086
		$CC $CFLAGS -w -DDGTEST=99 -Itestsuite/libffi.call -Ix86_64-pc-linux-gnu/include -Ix86_64-pc-linux-gnu -o "t.$(basename "$t" .c)" "$t" x86_64-pc-linux-gnu/.libs/libffi.a -lm -lpthread || true
	done
}
own_tests() { local t; for t in t.*; do ./"$t" 2>&1 | sed 's/0x[0-9a-f]*/ADDRESS/g'; echo "$t ${PIPESTATUS[0]}"; done; }
WORK=(./t.closure_fn0)
compare "$@"
