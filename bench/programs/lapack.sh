# The reference BLAS, with LAPACK's tests of it: Fortran, in single, double and complex precision.
. "$(dirname "$0")/lib.sh"
need gfortran
PACKAGE=lapack
build() {
	local t
	# shellcheck disable=SC2086
	$FC $FCFLAGS -c BLAS/SRC/*.f BLAS/SRC/*.f90 && ar rcs libblas.a ./*.o || return 1
	for t in s d c z; do
		for n in 1 2 3; do $FC $FCFLAGS -std=legacy -w -o ${t}blat$n BLAS/TESTING/${t}blat$n.f libblas.a || return 1; done
	done
}
own_tests() {
	local t status=0
	rm -f ./*.out
	for t in s d c z; do
		./${t}blat1 || status=1
		for n in 2 3; do ./${t}blat$n <BLAS/TESTING/${t}blat$n.in || status=1; done
	done
	cat ./*.out
	return $status
}
WORK=(bash -c 'for k in 1 2 3 4 5; do ./zblat3 <BLAS/TESTING/zblat3.in; done')
compare "$@"
