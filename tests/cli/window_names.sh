# Windows at a function: what is not there is told before the program runs, with names like it; modules go by short names too; an address is one in memory, or in a file.
. "$(dirname "$0")/../lib.sh"
cc_program steps <<-'END_C'
	#include <stdio.h>
	int sum;
	static inline __attribute__((always_inline)) void folded(int n) { sum += n; }
	__attribute__((noinline)) void stepping(int n) { folded(n); }
	int main(void)
	{
		for (int i = 0; i < 5; i++)
			stepping(i);
		printf("%d\n", sum);
		return 0;
	}
END_C
refused() { # refused PATTERN OPTION...: in one sentence, and the program does not run
	local pattern=$1
	shift
	rm -rf r.tw
	one_sentence "$TW" record -o r.tw "$@" ./steps
	says "$pattern"
	[ ! -s sentence.out ] || fail "$*: the program has run"
	[ ! -e r.tw ] || fail "$*: a recording has been made"
}
refused 'no function steping in .*steps; names like it: stepping' '--start=steps!steping'
refused '[-][-]stop: there is no function steping' '--stop=steps!steping'
refused 'folded is inlined everywhere in .*steps' '--start=./steps!folded'
refused 'no function prinft in .*libc.so.6; names like it: .*printf' '--start=libc!prinft'
refused 'no file nonsense is among' '--start=nonsense!0x12'
refused 'nothing of .*steps is loaded from that address' '--start=steps!0x7777777'

opens() { # opens TIMES OPTION...: the window opens so often
	local times=$1
	shift
	rm -rf r.tw
	run r.out r.err "$TW" record -o r.tw "$@" ./steps
	[ "$(info_value windows r.tw)" = "$times" ] || fail "$*: opened $(info_value windows r.tw) times, not $times: $(cat r.err)"
}
address=$(nm steps | sed -n 's/^0*\([0-9a-f]*\) T stepping$/\1/p')
opens 1 --start=stepping
opens 1 "--start=steps!0x$address"
opens 1 "--start=$PWD/steps!stepping"
libc=$(ldd steps | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')
for module in libc libc.so libc.so.6 "$libc" "$(realpath "$libc")"; do opens 1 "--start=$module!printf"; done

# A library that the program asks for by a path from here is looked through.
echo 'int added(int n) { return n + 1; }' >added.c
printf '#include <stdio.h>\nint added(int);\nint main(void) { return printf("%%d\\n", added(4)) != 2; }\n' >adds.c
"$CC" -O1 -fPIC -shared -o added.so added.c && "$CC" -O1 -o adds adds.c ./added.so || fail "adds: does not compile"
"$TW" record -o r.tw --start=added ./adds >r.out 2>r.err || fail "--start=added: status $?"
! grep -q added r.err && [ "$(info_value windows r.tw)" = 1 ] || fail "--start=added: $(cat r.err)"
one_sentence "$TW" record -o r.tw '--start=added.so!aded' ./adds
says 'names like it: added'

# Without a module, a library that is loaded later may have it: that is said, and the program runs.
"$TW" record -o r.tw --start=steping ./steps >r.out 2>r.err || fail "--start=steping: status $?"
grep -q 'steps and its libraries have no function steping; .*names like it: stepping' r.err || fail "--start=steping: $(cat r.err)"
[ -s r.out ] || fail "--start=steping: the program has not run"
if readelf -h steps | grep -q 'DYN'; then
	refused "0x$address is a memory address, .*; an address in its file is given as steps!0x$address" "--start=0x$address"
fi
exit 0

# C++: a function goes by its readable name, with or without parameters, where that is one function.
if command -v g++ >/dev/null; then
	cat >shapes.cc <<-'END_CXX'
		#include <cstdio>
		namespace shapes {
		struct box { int n; __attribute__((noinline)) int area(int k) { return n = n * k + 1; } };
		__attribute__((noinline)) int twice(int n) { return std::putchar('0' + n % 10); }
		__attribute__((noinline)) int twice(long n) { return std::putchar('1' + (int)(n % 9)); }
		}
		int main() { shapes::box b = {2}; for (int i = 0; i < 3; i++) shapes::twice(b.area(i)); shapes::twice(7L); std::putchar('\n'); }
	END_CXX
	g++ -O1 -o steps shapes.cc || fail "shapes.cc does not compile"
	opens 3 --start=shapes::box::area
	opens 3 '--start=steps!shapes::box::area(int)'
	opens 1 '--start=shapes::twice(long)'
	refused 'shapes::twice is the name of several functions; name one as the linker does: _ZN6shapes5twiceE[il], _ZN6shapes5twiceE[il]$' --start=shapes::twice
fi
