# pixman's own tests, which draw at random in threads of OpenMP and add up what came of it.
. "$(dirname "$0")/lib.sh"
need make
PACKAGE=pixman
PARTS="region-test region-translate-test rotate-test blitters-test scaling-test affine-test composite-traps-test glyph-test solid-test cover-test"
build() {
	./configure --disable-shared --disable-gtk --disable-libpng && grep -q -- '^OPENMP_CFLAGS = -fopenmp' Makefile && make -C pixman &&
		make -C test $PARTS
}
own_tests() {
	local t
	for t in region region-translate rotate; do
		"test/$t-test" 2>&1
		echo "$t: $?"
	done
	for t in blitters scaling affine composite-traps glyph solid cover; do
		OMP_NUM_THREADS=4 "test/$t-test" 1 500 2>&1
		echo "$t: $?"
	done
}
WORK=(test/blitters-test 1 60000)
compare "$@"
