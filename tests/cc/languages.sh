# Fortran, OpenMP.
. "$(dirname "$0")/../cc.sh"
need_command gfortran gcc
cat >f.f90 <<'X'
module shapes
contains
  subroutine relax(a, b, n)
    integer, intent(in) :: n
    double precision, intent(in) :: a(n, n)
    double precision, intent(out) :: b(n, n)
    integer :: i, j
    b = a
    do j = 2, n - 1
      do i = 2, n - 1
        b(i, j) = 0.25d0 * (a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1))
      end do
    end do
  end subroutine
end module
program main
  use shapes
  integer, parameter :: n = 20
  double precision :: a(n, n), b(n, n)
  character(len=10) :: word
  integer :: i, k
  k = 3
  do i = 1, n
    a(:, i) = i
  end do
  do i = 1, 10
    call relax(a, b, n)
    call inner(b(5, 5))
    a = b
  end do
  write (word, '(i5)') k
  print *, sum(a), trim(word)
contains
  subroutine inner(x)
    double precision, intent(in) :: x
    k = k + int(x)
  end subroutine
end program
X
for flags in "-O2" "-O0 -g" "-O3 -fPIC"; do
	instrumented f gfortran $flags f.f90
	runs_as_plain f
done
cat >o.c <<'X'
#include <stdio.h>
static double v[20000];
int main(void)
{
	double s = 0;
#pragma omp parallel for num_threads(3)
	for (int i = 0; i < 20000; i++)
		v[i] = i * 0.5;
#pragma omp parallel for reduction(+ : s) num_threads(3)
	for (int i = 0; i < 20000; i++)
		s += v[i];
	printf("%g\n", s);
	return 0;
}
X
instrumented o gcc -O2 -fopenmp o.c
runs_as_plain o
