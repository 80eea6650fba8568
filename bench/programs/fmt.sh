# {fmt}'s own tests, with its googletest: templates and exceptions.
. "$(dirname "$0")/lib.sh"
[ -d /usr/src/googletest ] || { say SKIP "no googletest here (tools/setup programs)"; exit 77; }
CC_OPTIONS=--large
PACKAGE=fmtlib
build() {
	local t
	$CXX $CXXFLAGS -I/usr/src/googletest/googletest -I/usr/src/googletest/googlemock -I/usr/src/googletest/googletest/include -I/usr/src/googletest/googlemock/include \
		-c /usr/src/googletest/googletest/src/gtest-all.cc /usr/src/googletest/googlemock/src/gmock-all.cc || return 1
	for t in src/format.cc src/os.cc test/test-main.cc test/gtest-extra.cc test/util.cc; do
		$CXX $CXXFLAGS -Iinclude -Isrc -Itest -I/usr/src/googletest/googletest/include -I/usr/src/googletest/googlemock/include -c $t || return 1
	done
	for t in core args format printf ostream ranges; do
		$CXX $CXXFLAGS -Iinclude -Isrc -Itest -I/usr/src/googletest/googletest/include -I/usr/src/googletest/googlemock/include -c test/$t-test.cc &&
			$CXX -pthread -o $t-test $t-test.o format.o os.o test-main.o gtest-extra.o util.o gtest-all.o gmock-all.o || return 1
	done
}
own_tests() {
	local t status=0
	for t in core args format printf ostream ranges; do ./$t-test 2>&1 | sed 's/ ([0-9]* ms\( total\)\?)$//'; status=$((status + PIPESTATUS[0])); done
	return $status
}
compare "$@"
