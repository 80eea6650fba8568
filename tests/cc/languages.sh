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
# Objective-C, D, Ada: recorded with the C that they call, which exceptions pass through. Go is left alone, but for what it calls of C.
cat >part.c <<'X2'
int twice(int x)
{
	return 2 * x;
}
int apply(int (*f)(int), int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += f(i) + twice(i);
	return s;
}
X2
cat >o.m <<'X2'
#include <stdio.h>
#include <objc/Object.h>
#include <objc/runtime.h>
int apply(int (*f)(int), int n);
@interface Counter : Object { int n; }
+ (id) make;
- (int) add: (int) k;
@end
@implementation Counter
+ (id) make { return class_createInstance(self, 0); }
- (int) add: (int) k { return n += k; }
@end
static id counter;
static int next(int x) { return [counter add: x]; }
int main(void)
{
	counter = [Counter make];
	printf("%d\n", apply(next, 20));
	@try { @throw counter; } @catch (Counter *c) { printf("caught %d\n", [c add: 1]); }
	return 0;
}
X2
sed 's/return n += k;/if (k == 38) throw k; return n += k;/; s/printf("%d.n", apply(next, 20));/try { apply(next, 20); } catch (int k) { printf("%d\\n", k); }/; s/^int apply/extern "C" int apply/; s/@try.*//; s/static id counter/static Counter *counter/' o.m >o.mm
cat >d.d <<'X2'
import std.stdio;
extern (C) int apply(int function(int), int);
extern (C) int triple(int x) { if (x == 50) throw new Exception("x"); return x * 3; }
void main()
{
	writeln(apply(&triple, 20));
	try apply(&triple, 60); catch (Exception e) writeln("caught ", e.msg);
}
X2
cat >g.go <<'X2'
package main
import "fmt"
//extern twice
func twice(n int32) int32
func main() {
	c := make(chan int32)
	for i := int32(0); i < 4; i++ {
		go func(k int32) { s := int32(0); for j := int32(0); j < 1000; j++ { s += twice(j * k) }; c <- s }(i)
	}
	s := int32(0)
	for i := 0; i < 4; i++ { s += <-c }
	fmt.Println(s)
}
X2
cat >a.adb <<'X2'
with Ada.Text_IO; use Ada.Text_IO;
procedure A is
   function Twice (N : Integer) return Integer with Import, Convention => C;
   S : Integer := 0;
begin
   for I in 1 .. 20 loop S := S + Twice (I); end loop;
   Put_Line (Integer'Image (S));
   raise Constraint_Error;
exception
   when Constraint_Error => Put_Line ("caught");
end A;
X2
gcc -O2 -fexceptions -c part.c -o plain.o && "$TW" cc gcc -O2 -fexceptions -c part.c -o part.o || fail "part.c"
# with_c WHAT OWN COMMAND...: the program p that COMMAND makes with OBJECT, once plain and once through trackway cc. OWN: a function of it; "": the language is left alone
with_c() {
	local what=$1 own=$2
	shift 2
	if ! OBJECT=plain.o GCC=gcc bash -c "$*" >compile.err 2>&1; then
		untested "$what"
		return
	fi
	./p >p.said 2>&1 || fail "$what: the plain program fails: $(cat p.said)"
	mv p p.plain
	OBJECT=part.o GCC=$PWD/wrapped/gcc PATH=$PWD/wrapped:$PATH bash -c "$*" >compile.err 2>&1 || { cat compile.err; fail "$what: trackway cc"; }
	runs_as_plain p
	"$TW" report -n 0 recording.tw >report.out
	grep -qE 'twice|apply' report.out || fail "$what: what it calls of C is not recorded"
	[ -z "$own" ] && return
	grep -q "$own" report.out || fail "$what: $own is not recorded"
	same_as_engine p
}
"$TW" cc --wrap wrapped
for c in gdc gccgo; do # of these there are no links
	printf '#!/bin/sh\nexec %q cc %q "$@"\n' "$TW" "$(command -v $c)" >wrapped/$c
	chmod +x wrapped/$c
done
with_c Objective-C Counter__add 'gcc -std=gnu11 -O2 -fobjc-exceptions -no-pie -o p o.m $OBJECT -lobjc'
with_c Objective-C++ Counter__add 'g++ -O2 -no-pie -o p o.mm $OBJECT -lobjc'
with_c D triple 'gdc -O2 -no-pie -o p d.d $OBJECT'
with_c "Go by gccgo" "" 'gccgo -O2 -o p g.go $OBJECT'
with_c Ada _ada_a 'gnatmake -q -f -O2 a.adb -o p --GCC=$GCC -cargs -fno-pie -largs $OBJECT --GCC=$GCC -no-pie'

# gdc makes one object of several sources, and names what it depends on in its own way.
command -v gdc >/dev/null || exit 0
cat >m.d <<'X2'
import e, core.stdc.stdio;
int main()
{
	int s = 0;
	for (int i = 0; i < 20; i++) s += five(i);
	printf("%d\n", s);
	return 3;
}
X2
echo 'module e; pragma(inline, false) int five(int n) { return n % 3 ? five(n - 1) + 1 : 5; }' >e.d
for way in plain own; do
	command=(gdc)
	[ $way = plain ] || command=("$TW" cc gdc)
	mkdir $way
	(
		cd $way && cp ../m.d ../e.d . || exit
		"${command[@]}" -O2 -c -MMD m.d e.d && "${command[@]}" -MMD -c e.d && "${command[@]}" -c -fstack-usage m.d e.d -o b.o &&
			"${command[@]}" -no-pie -o p m.o && "${command[@]}" -no-pie -O2 -o q m.d e.d
	) || fail "D, several sources: $way"
	(cd $way && ls && cat ./*.deps) >$way.says
done
diff plain.says own.says || fail "D, several sources: other files"
for p in p q; do
	native plain/$p
	recorded own/$p
	compare_runs "D, several sources: $p"
	"$TW" report -n 0 recording.tw >report.out
	grep -q 'five' report.out && grep -q '_Dmain' report.out || fail "D, several sources: $p is not recorded"
done
