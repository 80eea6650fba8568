# Unusual links: programs that were linked so are recorded, all of them, and run as the plain ones do.
# timeout: 300
. "$(dirname "$0")/../cc.sh"
need_command gcc
cat >a.c <<'X'
#include <stdio.h>
#include <stdlib.h>
int other(int n);
static int less(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) int unused(int n)
{
	return n * 3;
}
int main(int argc, char **argv)
{
	int v[50], s = 0;
	(void)argv;
	for (int i = 0; i < 50; i++)
		v[i] = i * 37 % 50;
	qsort(v, 50, sizeof *v, less);
	for (int i = 0; i < 50; i++)
		s += other(v[i]) * argc;
	printf("%d\n", s);
	return 3;
}
X
cat >b.c <<'X'
static int table[64];
int other(int n)
{
	for (int k = 0; k < 64; k++)
		table[k] += n ^ k;
	return table[n & 63];
}
X
echo 'SECTIONS { .mine : { *(.mine) } } INSERT AFTER .data;' >script.ld
blocks() { "$TW" info recording.tw | awk '$1 == "blocks" { print $2 }'; }

# linked FLAG...: as without them. Linkers and options that are not there are passed over
linked() {
	left_out "$*" '-ffunction-sections -fdata-sections -Wl,--gc-sections' -Wl,-z,pack-relative-relocs '-fuse-ld=lld -Wl,-z,relro,-z,now' '-g -gsplit-dwarf' -static '-no-pie -Wl,-Ttext=0x800000' && return
	rm -f a a.plain
	if ! gcc -O2 "$@" a.c b.c -o a.plain 2>/dev/null; then
		echo "passed over: $*"
		return
	fi
	instrument a gcc -O2 "$@" a.c b.c
	runs_as_plain a
	"$TW" info recording.tw | grep -q instrumented || fail "$*: it is not recorded as an instrumented program"
	[ "$(blocks)" -ge "$wanted" ] && [ "$(blocks)" -le $((wanted + 200)) ] || fail "$*: $(blocks) blocks are recorded, elsewhere $wanted"
}
wanted=0
instrumented a gcc -O2 a.c b.c
recorded ./a
wanted=$(($(blocks) - 100))
[ "$wanted" -gt 1000 ] || fail "$wanted blocks"
linked -ffunction-sections -fdata-sections -Wl,--gc-sections
linked -ffunction-sections -Wl,--gc-sections,-z,start-stop-gc
linked -fuse-ld=lld -ffunction-sections -Wl,--gc-sections
linked -fuse-ld=gold -ffunction-sections -Wl,--gc-sections,--icf=all
linked -fuse-ld=mold -ffunction-sections -Wl,--gc-sections
linked -Wl,-z,pack-relative-relocs
linked -static-pie
linked -static
linked -flto
linked -g -gsplit-dwarf
linked -Wl,-T,script.ld
linked -no-pie -Wl,-Ttext=0x800000
linked -fPIE -pie -Wl,-Ttext-segment=0x700000000000
linked -mcmodel=large -no-pie
linked -Wl,-z,noseparate-code -Wl,--build-id=none -s
linked -fuse-ld=lld -Wl,-z,relro,-z,now
if command -v clang >/dev/null && clang -O2 -fuse-ld=lld a.c b.c -o a.plain 2>/dev/null; then
	instrument a clang -O2 -Werror -fuse-ld=lld a.c b.c
	runs_as_plain a
fi

# In two versions, with what is known left out, where linkers drop sections that nothing refers to.
CC_OPTIONS=--switchable
linked -ffunction-sections -Wl,--gc-sections,-z,start-stop-gc
linked -fuse-ld=lld -ffunction-sections -Wl,--gc-sections
for k in 1 2; do
	timeout 60 "$TW" record --learn=a.learn ./a >/dev/null 2>said
	[ $? = 3 ] || fail "--learn: $(cat said)"
done
grep -q ' 0 references' said || fail "what is known: $(cat said)"
CC_OPTIONS=

# More than 2 GB of data between the code and what the run-time part has, at addresses that the engine would need.
cat >far.c <<'X'
static char far[3ul << 30];
int other(int n)
{
	return far[(unsigned long)n << 24] += (char)n;
}
X
if gcc -O2 -mcmodel=large -no-pie a.c far.c -o far.plain 2>/dev/null; then
	instrument far gcc -O2 -mcmodel=large -no-pie a.c far.c
	runs_as_plain far
else
	untested "-mcmodel=large with 3 GB of data"
fi

# Objects linked to one with -r.
"$TW" cc gcc -O2 -c a.c b.c && "$TW" cc gcc -r -nostdlib a.o b.o -o both.o 2>said && "$TW" cc gcc both.o -o a || fail "-r: $(cat said)"
gcc -O2 a.c b.c -o a.plain
runs_as_plain a
[ "$(blocks)" -ge "$wanted" ] || fail "-r: $(blocks) blocks"
objcopy --keep-global-symbol=main both.o one.o && "$TW" cc gcc one.o -o a 2>said || fail "-r, made local: $(cat said)"
recorded ./a
[ "$(blocks)" -ge "$wanted" ] || fail "-r, made local: $(blocks) blocks"
# What is nothing without -flto is left to the compiler.
if command -v clang >/dev/null && clang -O1 -flto -fsanitize=cfi -fvisibility=hidden -fuse-ld=lld a.c b.c -o a.plain 2>/dev/null; then
	"$TW" cc clang -O1 -flto -fsanitize=cfi -fvisibility=hidden -fuse-ld=lld a.c b.c -o a 2>said || fail "cfi: $(cat said)"
	[ "$(grep -c '^trackway cc: [ab].c is not instrumented: -fsanitize=cfi needs -flto' said)" = 2 ] || fail "cfi: $(cat said)"
	./a >/dev/null
	[ $? = 3 ] || fail "cfi: status $?"
fi

# -N: nothing says where the file begins. The C library cannot be linked so, and without one that makes thread-local storage nothing instrumented runs: it is linked.
cat >n.c <<'X'
int sum;
void _start(void)
{
	for (int k = 0; k < 100; k++)
		sum += k;
	__builtin_trap();
}
X
gcc -O2 -nostdlib -static -no-pie n.c -o n.plain -Wl,-N -Wl,--no-warn-rwx-segments || skip "no -N here"
"$TW" cc gcc -O2 -nostdlib -static -no-pie n.c -o n -Wl,-N -Wl,--no-warn-rwx-segments 2>said || fail "-N: $(cat said)"
