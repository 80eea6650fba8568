# The command line: what compilers are asked for they still do.
# timeout: 240
. "$(dirname "$0")/../cc.sh"
need_command gcc make
mkdir temporary
export TMPDIR=$TMP/temporary
cat >a.c <<'X'
#include "h.h"
#include <stdio.h>
int b(int);
int s(int);
int main(void)
{
	printf("%d\n", b(N) + s(1));
	return 0;
}
X
echo '#define N 5' >h.h
echo 'int b(int x) { int s = 0; for (int i = 0; i < x; i++) s += i; return s; }' >b.c
printf '\t.globl s\ns:\tleal 1(%%rdi), %%eax\n\tret\n\t.section .note.GNU-stack,"",@progbits\n' >s.s
ok() {
	"$@" >out 2>err || {
		cat err
		fail "$*"
	}
}
says_11() { [ "$(./"${1:-a.out}")" = 12 ] || fail "${1:-a.out} says $(./"${1:-a.out}")"; }
ok "$TW" cc gcc -O2 a.c b.c s.s
says_11
recorded ./a.out
[ "$(info_value blocks)" -gt 3 ] || fail "nothing is recorded"
ok "$TW" cc gcc -c -O2 -MD -MP a.c -o x.o
grep -q '^x.o:.* h.h' x.d || fail "dependencies: $(cat x.d)"
ok "$TW" cc gcc -c -pipe -Wp,-MMD,b.dep b.c
ok "$TW" cc gcc -c -MMD -MF other.d -MT target a.c
grep -q '^target:' other.d || fail "-MF, -MT"
ok "$TW" cc gcc x.o b.o s.s -o linked
says_11 linked
ok "$TW" cc gcc x.o b.o s.s "$(dirname "$TW")/trackway-cc.o" -o again # as libtool does, which has seen what a link takes
says_11 again
ok "$TW" cc --refs none "$TW" cc --only b gcc -O2 a.c b.c s.s -o twice # CMake's launcher, and CC
says_11 twice
# What is not for x86-64 is linked as it is.
ok "$TW" cc gcc -m32 -c b.c -o b32.o
ok "$TW" cc gcc -m32 -nostdlib -shared -fPIC b.c -o b32
ok "$TW" cc gcc -nostdlib -shared -Wl,-m,elf_i386 b32.o -o b32
printf -- '-O2 -DX="a b" a.c\nb.c s.s -o "from file"' >words
ok "$TW" cc gcc @words
says_11 "from file"
ok "$TW" cc gcc -flto -O2 a.c b.c s.s -o with-lto
says_11 with-lto
ok "$TW" cc gcc -O2 -x c a.c b.c -x none s.s -o language
says_11 language
ok "$TW" cc gcc -E a.c
grep -q 'int main' out || fail "-E"
ok "$TW" cc gcc -S b.c -o b.s
grep -q trackway b.s && fail "-S is instrumented"
ok "$TW" cc gcc --version
if command -v ccache >/dev/null; then
	ok env CCACHE_DIR="$TMP/cache" "$TW" cc ccache gcc -O2 a.c b.c s.s -o cached
	says_11 cached
fi
# Others that start a compiler: the first word with a compiler's name is it.
printf '#!/bin/sh\nexec "$@"\n' >launch
chmod +x launch
for launcher in ./launch 'env A=B nice'; do
	# shellcheck disable=SC2086
	ok "$TW" cc $launcher gcc -O2 a.c b.c s.s -o launched
	says_11 launched
	recorded ./launched
	[ "$(info_value blocks)" -gt 3 ] || fail "$launcher gcc: nothing is recorded"
done
# More than a program may be given as its arguments: 128 KB with a stack so small.
mkdir 'with "quotes" and \ a blank'
gcc -c s.s -o 'with "quotes" and \ a blank/s.o'
ar rcs b.a b.o
yes "$(printf './%.0s' {1..50})b.a" | head -n 2000 >many
echo "'with \"quotes\" and \\\\ a blank/s.o'" >>many
(ulimit -s 512 && ok "$TW" cc gcc -o many-words x.o @many) || exit
says_11 many-words
# What clang writes for lists of commands, and of its time.
if command -v clang >/dev/null && clang -ftime-trace -MJ entry.plain -c b.c -o b.plain.o 2>/dev/null &&
	clang -gen-cdb-fragment-path entries.plain -c b.c -o b.plain.o 2>/dev/null; then
	ok "$TW" cc clang -gen-cdb-fragment-path entries -c b.c -o b.fragment.o
	[ -d entries ] && [ -s b.fragment.o ] || fail "-gen-cdb-fragment-path: $(ls)"
	ok "$TW" cc clang -ftime-trace -MJ entry -c b.c -o b.entry.o
	[ -s b.entry.json ] || fail "-ftime-trace: $(ls)"
	sed 's/b\.plain/b.entry/g' entry.plain | cmp - entry || fail "-MJ: $(cat entry)"
else
	untested "clang -MJ"
fi
# And of what it has to say, and has counted: where it assembles it would remove the one.
echo 'int warned(void) { int unused; return 1; }' >w.c
mkdir said.plain said.own
if command -v clang >/dev/null && clang -Wall --serialize-diagnostics said.plain/w.dia -save-stats=obj -c w.c -o said.plain/o.o 2>/dev/null && [ -s said.plain/w.dia ] &&
	[ -s said.plain/w.stats ]; then
	"$TW" cc clang -Wall --serialize-diagnostics said.own/w.dia -save-stats=obj -c w.c -o said.own/o.o 2>/dev/null
	cmp said.plain/w.dia said.own/w.dia && [ "$(ls said.plain)" = "$(ls said.own)" ] || fail "--serialize-diagnostics, -save-stats=obj: $(ls said.own)"
else
	untested "clang --serialize-diagnostics"
fi
echo 'int main(void) { return missing; }' >bad.c
"$TW" cc gcc -c bad.c -o bad.o 2>err
[ $? = 1 ] && grep -q missing err && [ ! -e bad.o ] || fail "a source with errors"
"$TW" cc no-such-compiler -c a.c 2>err
[ $? = 127 ] && grep -q '^trackway cc: no-such-compiler' err || fail "a compiler that is not there"

# Interrupted, it ends as what it runs does, which is told, and leaves nothing.
cat >slow <<'X'
#!/bin/bash
trap 'kill $!; echo >told; exit 1' TERM
sleep 60 &
echo >begun
wait
X
chmod +x slow
"$TW" cc ./slow -O2 -c b.c -o slow.o 2>err &
for ((k = 0; k < 600; k++)); do [ -e begun ] && break || sleep 0.1; done
kill -TERM $!
wait $! 2>/dev/null
[ $? = 143 ] && [ -e told ] && [ ! -e slow.o ] && [ ! -s err ] || fail "interrupted: $(cat err)"
[ -z "$(ls temporary)" ] || fail "interrupted: temporary files are left: $(ls temporary)"

# What the compiler writes as assembly, and cannot be assembled, it makes an object of by itself.
cat >odd <<'X'
#!/bin/bash
gcc "$@" || exit
while [ $# -gt 1 ]; do
	[ "$1" = -S ] && assembly=1
	[ "$1" = -o ] && to=$2
	shift
done
[ -z "${assembly:-}" ] || echo '	.size vect@@24, 3' >>"$to"
X
chmod +x odd
for options in "" --switchable; do
	# shellcheck disable=SC2086
	"$TW" cc $options ./odd -O2 -c -MD b.c -o odd.o 2>err || fail "assembly that cannot be assembled: $(cat err)"
	grep -q '^trackway cc: b.c is not instrumented: ' err && [ -s odd.d ] || fail "assembly that cannot be assembled: $(cat err)"
	ok "$TW" cc gcc x.o odd.o s.s -o linked
	says_11 linked
done

# A source on standard input is read again for that, as is assembly there. So a failure is one.
ok "$TW" cc ./odd -O2 -x c -c - -o odd.o < <(cat b.c)
ok "$TW" cc gcc x.o odd.o s.s -o linked
says_11 linked
echo 'int f(void) { __asm__("bogus %eax"); return 3; }' | "$TW" cc gcc -O2 -x c -c - -o bogus.o 2>err
[ $? = 1 ] && grep -q bogus err && [ ! -e bogus.o ] || fail "inline assembly with errors, from standard input: $(cat err)"
for language in assembler assembler-with-cpp; do
	ok "$TW" cc --asm gcc -x $language -c - -o s.o < <(cat s.s)
	ok "$TW" cc gcc x.o odd.o s.o -o linked
	says_11 linked
done
# Where there is no such folder for temporary files, compilers take another.
TMPDIR=$TMP/none ok "$TW" cc gcc x.o b.c s.s -o linked
says_11 linked

# What stands beside objects and programs, for compilers or from them, is what it is without trackway cc: names, dependencies, counters. So is what there is after a failure.
beside() { # COMPILER
	local c=$1
	mkdir out && $c -O1 -g --coverage -gsplit-dwarf -fstack-usage -save-temps -MMD --include ../h.h -c ../b.c -o out/z.o
	readelf --debug-dump=info out/z.o 2>/dev/null | grep -o 'out/[a-z]*[.]dwo$' >dwo
	$c --coverage -Wp,-MMD,b.dep ../a.c out/z.o ../s.s --output=counted && ./counted >/dev/null
	if [ "$c" = "${c%clang}" ]; then
		$c -c ../b.c ../s.s ../a.c -o both.o 2>/dev/null
		$c -c ../bad.c -MD '../b c.x.c' 2>/dev/null
		mkdir cwd && $c -save-temps=cwd -fstack-usage -c ../b.c -o cwd/y.o && $c -save-temps=cwd '../b c.x.c' ../b.c -o cwd/p
		$c -x c-header ../h.h -o h.gch && $c -O1 -fprofile-use -fdump-tree-optimized -Werror=missing-profile -c ../b.c -o out/z.o
	fi
	mkdir obj && $c -save-temps=obj -c ../b.c -o obj/z.o
	find . -type f ! -name '*.d' ! -name b.dep ! -name '*.gch' -printf '%p\n' | sort
	find . -name '*.d*' -type f ! -name '*.dwo' | sort | tr '\n' '\0' | xargs -0 tail -n +1
}
echo 'int main(void) { return 0; }' >'b c.x.c'
for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	mkdir plain instrumented
	(cd plain && beside $compiler) >files.plain 2>err || fail "$compiler: $(cat err)"
	(cd instrumented && beside "$TW cc $compiler") >files 2>err || fail "trackway cc $compiler: $(cat err)"
	diff files.plain files || fail "$compiler: files beside objects"
	rm -rf plain instrumented
done

# Where sources are compiled and linked by one command, clang does not say of what is for compiling only, or for linking only, that it is not used.
if command -v clang >/dev/null; then
	for flags in '-mllvm -align-all-blocks=4' '-Wa,--noexecstack' '-Xassembler --noexecstack'; do
		left_out "$flags" '-Xassembler --noexecstack' && continue
		# shellcheck disable=SC2086
		clang -Werror $flags a.c b.c s.s -o linked 2>/dev/null || continue
		# shellcheck disable=SC2086
		ok "$TW" cc clang -Werror $flags a.c b.c s.s -o linked
		says_11 linked
	done
	echo 'int main(void) { return 11; }' >c.cpp
	flags='-nostdinc++ -stdlib=libstdc++'
	# shellcheck disable=SC2086
	if clang++ -Werror $flags c.cpp -o linked 2>/dev/null; then
		# shellcheck disable=SC2086
		ok "$TW" cc clang++ -Werror $flags c.cpp -o linked
	fi
fi

# A build that names its compiler.
ok "$TW" cc --wrap wrapped
printf 'all:\n\tgcc -O2 -c a.c\n\tcc -O2 -c b.c\n\tgcc -o made a.o b.o s.s\n' >Makefile
PATH=$TMP/wrapped:$PATH make -s >out 2>&1 || fail "make with wrapped compilers"
says_11 made
recorded ./made
[ "$(info_value blocks)" -gt 3 ] || fail "wrapped compilers do not instrument"
# Those that name their target, too, if that is this machine.
mkdir targets
for name in x86_64-pc-linux-gnu-gcc-12 x86_64-w64-mingw32-gcc aarch64-linux-gnu-gcc; do printf '#!/bin/sh\n' >targets/$name; done
chmod +x targets/*
PATH=$TMP/targets:$PATH ok "$TW" cc --wrap wrapped-targets
[ -x wrapped-targets/x86_64-pc-linux-gnu-gcc-12 ] && [ ! -e wrapped-targets/x86_64-w64-mingw32-gcc ] && [ ! -e wrapped-targets/aarch64-linux-gnu-gcc ] ||
	fail "--wrap: $(ls wrapped-targets)"
# Compilers that look for one of their own name in PATH, as ccache does under a compiler's name, do not find the wrapped one.
mkdir masked kept
cat >masked/gcc <<'X'
#!/bin/bash
IFS=: read -ra path <<<"$PATH"
for d in "${path[@]}"; do
	[ "$d" = "$TMP/masked" ] && continue
	[ -x "$d/gcc" ] && echo "$d/gcc" >>"$TMP/asked" && exec "$d/gcc" "$@"
done
X
chmod +x masked/gcc
export TMP
PATH=$TMP/masked:$PATH ok "$TW" cc --wrap behind
PATH=$TMP/behind:$TMP/masked:$PATH ok timeout 60 gcc -O2 a.c b.c s.s -o through
says_11 through
grep -q behind asked && fail "what a wrapped compiler looks for is wrapped again"
if [ -x /usr/lib/ccache/gcc ]; then
	PATH=/usr/lib/ccache:$PATH ok "$TW" cc --wrap cached-behind
	CCACHE_DIR=$TMP/cache PATH=$TMP/cached-behind:/usr/lib/ccache:$PATH ok timeout 60 gcc -O2 a.c b.c s.s -o through
	says_11 through
fi
recorded ./through
[ "$(info_value blocks)" -gt 3 ] || fail "a wrapped compiler behind another instruments nothing"
# Nothing that was in the directory before is lost, but the commands of an earlier --wrap.
echo mine >kept/gcc
one_sentence "$TW" cc --wrap kept
[ "$(cat kept/gcc)" = mine ] || fail "--wrap writes over a file"
ok "$TW" cc --only 'mai?' --wrap wrapped
grep -q mai wrapped/gcc || fail "--wrap does not replace its own commands"
one_sentence "$TW" record -f cf_bit -o r.tw ./made
says 'instrumented by trackway cc'
[ -z "$(ls temporary)" ] || fail "temporary files are left: $(ls temporary)"
