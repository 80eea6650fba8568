# Gforth: an interpreter that puts pieces of its own machine code together, from label to label: programs, and the tests of its core.
. "$(dirname "$0")/lib.sh"
need make
PACKAGE=gforth
build() { ./configure --without-check && make -j1 gforth gforth-fast gforth.fi; }
own_tests() {
	local e t
	for e in ./gforth ./gforth-fast "./gforth-fast --no-dynamic"; do
		for t in bubble fib matrix sieve; do $e -p .:. "$t.fs" -e "main bye" 2>&1 | sed 's/\$7F[0-9A-F]*/ADDRESS/g'; done
		$e -p .:. ./test/tester.fs ./test/coretest.fs -e bye 2>&1
	done
}
WORK=(./gforth-fast -p .:. fib.fs -e "main bye")
compare "$@"
