# Where nothing is recorded, instrumented code does without what was inserted: the instructions that are left are the compiler's own.
# timeout: 120
. "$(dirname "$0")/../cc.sh"
need_command gcc objdump
cat >work.c <<'X'
#include <stdio.h>
extern const char __start_those[], __stop_those[];
__attribute__((section("those"), noinline)) static int one(int x, const int *t) { return x % 7 ? t[x % 7] : x; }
int other(int x);
__attribute__((section("those"), noinline)) static int all(int n, int *t)
{
	int s = 0;
	for (int i = 0; i < n; i++) {
		switch (one(i, t) & 7) {
		case 0: s += other(i); break;
		case 1: s ^= t[i & 7]; break;
		case 2: t[i & 7]++; break;
		case 3: s -= i; break;
		case 4: t[s & 7] = i; break;
		default: s++;
		}
		for (int k = 0; k < 8; k++)
			s += t[k];
	}
	return s;
}
int other(int x) { return x ^ 5; }
int work(int n, const char *file);
int work(int n, const char *file)
{
	int t[8] = {1, 5, 3, 2};
	FILE *to = fopen(file, "w"); /* as it is in memory */
	fwrite(__start_those, 1, (size_t)(__stop_those - __start_those), to);
	fclose(to);
	return all(n, t);
}
X
cat >main.c <<'X'
#include <stdio.h>
int work(int n, const char *file);
int main(int argc, char **argv)
{
	(void)argc;
	printf("%d\n", work(10000, argv[1]));
	return 0;
}
X
# instructions FILE: their names, but for those that do nothing
instructions() { objdump -D -b binary -m i386:x86-64 "$1" | awk -F'\t' 'NF > 2 { split($3, w, " "); print w[1] ~ /^(data16|cs)$/ ? "nop" : w[1] }' | grep -vE '^(nop|nopw|nopl|xchg)'; }
# runs_plain WHAT COMMAND...: by itself, and with TRACKWAY=off, its code in memory is the compiler's; with TRACKWAY=discard, and recorded, it is instrumented
runs_plain() {
	local what=$1 how
	shift
	for how in alone off; do
		rm -f code
		{ if [ $how = off ]; then TRACKWAY=off "$@" code; else "$@" code; fi; } >out || fail "$what, $how: status $?"
		cmp -s out expected || fail "$what, $how: $(cat out)"
		instructions code >got
		cmp -s wanted got || fail "$what, $how: $(diff wanted got | head -n 5)"
	done
	TRACKWAY=discard "$@" code >out && cmp -s out expected || fail "$what: with TRACKWAY=discard"
	instructions code >got
	[ "$(wc -l <got)" -gt $(($(wc -l <wanted) * 5 / 4)) ] || fail "$what: with TRACKWAY=discard nothing is inserted"
	rm -rf r.tw
	"$TW" record -q --native -o r.tw -- "$@" recorded.code >out && cmp -s out expected || fail "$what: recorded"
	instructions recorded.code | cmp -s got - || fail "$what: recorded, it is not instrumented"
}
# Of flags and options each with each, with TW_FULL=1; else each with one other at least.
for flags in "-O0 -no-pie" -O1 "-O2 -no-pie" "-O3 -static -march=x86-64-v3"; do
	for option in "" --full=guard --switchable; do
		left_out "$flags $option" '-O1 --full=guard' '-O1 --switchable' '-O2 -no-pie ' '-O2 -no-pie --switchable' '-O3 -static -march=x86-64-v3 --full=guard' && continue
		# shellcheck disable=SC2086
		gcc $flags -ffixed-r11 -fno-ipa-ra -w work.c main.c -o plain || fail "plain"
		./plain wanted.code >expected
		instructions wanted.code >wanted
		# shellcheck disable=SC2086
		"$TW" cc $option gcc $flags -w work.c main.c -o p 2>cc.err || fail "$flags $option: $(cat cc.err)"
		if [ "$option" = --switchable ]; then # nothing else compares bytes here
			./p code >out && cmp -s out expected || fail "$flags $option: $(cat out)"
			instructions code | grep -qx cmpb && fail "$flags $option: the switch is still tested"
			TRACKWAY=discard ./p code >out && instructions code | grep -qx cmpb || fail "$flags $option: with TRACKWAY=discard the switch is not tested"
			continue
		fi
		runs_plain "$flags $option" ./p
	done
done

# Stripped; a library, which is opened, too.
"$TW" cc gcc -O3 -static -march=x86-64-v3 -w work.c main.c -o p && strip p -o stripped && runs_plain stripped ./stripped
gcc -O2 -fPIC -ffixed-r11 -fno-ipa-ra -w work.c -shared -o libplain.so && gcc main.c -o user -L. -l:libplain.so -Wl,-rpath,"$PWD" || fail "a library, plain"
./user wanted.code >expected && instructions wanted.code >wanted
mkdir -p own && "$TW" cc gcc -O2 -fPIC -w work.c -shared -o own/libplain.so || fail "a library"
runs_plain "a library" env LD_LIBRARY_PATH="$PWD/own" ./user

# Other linkers: gold takes what is asked for weakly for where the file begins.
for linker in gold lld; do
	command -v ld.$linker >/dev/null || { untested "a link by $linker: there is no ld.$linker"; continue; }
	for flags in "-O2" "-O2 -no-pie" "-O2 -static"; do
		left_out "$linker $flags" 'gold -O2 -no-pie' 'lld -O2' && continue
		# shellcheck disable=SC2086
		gcc $flags -ffixed-r11 -fno-ipa-ra -fuse-ld=$linker -w work.c main.c -o plain && ./plain wanted.code >expected || fail "$linker $flags: plain"
		instructions wanted.code >wanted
		# shellcheck disable=SC2086
		"$TW" cc gcc $flags -fuse-ld=$linker -w work.c main.c -o p || fail "$linker $flags"
		runs_plain "$linker $flags" ./p
	done
done

# What is in the file is another program's by now: it runs as it was instrumented.
"$TW" cc gcc -O2 -w work.c main.c -o p && ./p code >expected || fail "p"
offset=$(readelf -SW p | sed 's/^ *\[ *[0-9]*\] *//' | awk '$1 == "trackway_cc_plain" { print $4, $5 }')
printf '\0\0\0\0' | dd of=p bs=1 conv=notrunc seek=$((0x${offset% *} + 0x${offset#* } - 24)) 2>/dev/null
./p code >out && cmp -s out expected || fail "damaged: $(cat out)"
TRACKWAY=discard ./p discarded >/dev/null
cmp -s code discarded || fail "damaged: it is taken all the same"

# A debugger's breakpoints stay where they are.
if command -v gdb >/dev/null; then
	"$TW" cc gcc -O1 -g -w work.c main.c -o p || fail "p"
	gdb -q -batch -iex 'set debuginfod enabled off' -ex 'break other' -ex 'run code >/dev/null' -ex 'backtrace 2' ./p >gdb.out 2>&1 </dev/null
	grep -q '^#1 .* all ' gdb.out || fail "gdb: $(tail -n 5 gdb.out)"
else
	untested "a breakpoint: no gdb here"
fi

# The program that has a routine is the last to be loaded: its library is instrumented for it again.
cat >count.c <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <trackway/analyzer.h>
static void *begin(void *arg) { (void)arg; return calloc(1, sizeof(size_t)); }
static int batch(void *state, const struct tw_batch *b) { *(size_t *)state += b->n_refs; return 0; }
static int merge(void *state, void *later) { *(size_t *)state += *(size_t *)later; free(later); return 0; }
static int end(void *state, int error) { if (!error) fprintf(stderr, "%zu\n", *(size_t *)state); free(state); return 0; }
static const struct tw_analyzer counter = {.name = "counter", .begin = begin, .batch = batch, .merge = merge, .end = end};
TW_PLUGIN(counter);
X
"$TW" cc --batch=count.c gcc -O2 main.c -o user -Lown -l:libplain.so -Wl,-rpath,"$PWD/own" || fail "--batch"
./user code >out 2>refs || fail "--batch: status $?"
[ "$(cat refs)" -gt 50000 ] || fail "--batch: references: $(cat refs)"
