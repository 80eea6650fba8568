# Gforth: an interpreter that puts pieces of its own machine code together, from label to label: programs, and the tests of its core.
. "$(dirname "$0")/lib.sh"
need make
PACKAGE=gforth
build() { ./configure --without-check && make -j1 gforth gforth-fast gforth.fi; }
own_tests() {
	local e
	for e in ./gforth ./gforth-fast "./gforth-fast --no-dynamic"; do
		$e -p .:. bubble.fs -e "main bye" 2>&1
		$e -p .:. fib.fs -e "25 fib . bye" 2>&1
		$e -p .:. ./test/tester.fs ./test/coretest.fs -e bye 2>&1
	done
}
WORK=(./gforth-fast -p .:. fib.fs -e "main bye")
compare "$@"
