# dump --lackey beside Valgrind's own Lackey: every line is the same, from the first instruction to the last. The program has a stack of its own,
# since Valgrind's is elsewhere. (--vex-guest-chase=no: without it Valgrind tries the second condition of `a && b` where the first is false, and prints that.)
. "$(dirname "$0")/../lib.sh"
need_command valgrind
cc_program program -O1 -static -nostdlib -fno-stack-protector -mno-red-zone <<'PROGRAM'
typedef unsigned long u64;
char stack[65536] __attribute__((aligned(16)));
static char from[300] = "the quick brown fox jumps over the lazy dog", to[300];
static u64 table[64];
static volatile int sink;
static u64 mix(u64 x) { return (x ^ x >> 7) * 0x9e3779b97f4a7c15ul; }
static __attribute__((noinline)) int both(const int *p, int n) { return p && n > 3 && p[n & 7] > 2; }
static __attribute__((noinline)) u64 deep(int n) { return n ? mix(n) + deep(n - 1) : 1; }
__asm__(".globl _start\n_start: lea stack+65536(%rip), %rsp\ncall program");
void program(void)
{
	u64 sum = 0;
	int a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	for (int i = 0; i < 200; i++) {
		char *at = from, *to_at = to;
		u64 n = i % 5, m = 20;
		table[mix(i) >> 58] += i;
		sum += deep(i % 9);
		sink += both(i & 1 ? a : 0, i);
		__asm__ volatile("rep movsb" : "+S"(at), "+D"(to_at), "+c"(n) : : "memory");
		at = from;
		__asm__ volatile("repne scasb" : "+D"(at), "+c"(m) : "a"('q') : "memory", "cc");
		__asm__ volatile("lock incq %0" : "+m"(table[3]));
		__asm__ volatile("movdqu %1, %%xmm0; movdqa %%xmm0, %0" : "=m"(*(char(*)[16])table) : "m"(*(char(*)[16])(from + 3)) : "xmm0");
		__asm__ volatile("pushq %0; popq %1" : "+m"(table[1]), "+m"(table[2]));
	}
	__asm__ volatile("syscall" : : "a"(60), "D"(sum & 63) : "rcx", "r11");
}
PROGRAM
run out err ./program
native=$?
run out err valgrind --tool=lackey --vex-guest-chase=no --trace-mem=yes --log-file=valgrind.out ./program
[ $? = $native ] || fail "valgrind: $(tail -n 1 valgrind.out)"
grep -E '^(I | [SLM])' valgrind.out >expected
run out err "$TW" record -q -o recording.tw ./program
[ $? = $native ] || fail "record: $(cat err)"
"$TW" dump --lackey recording.tw >found || fail "dump"
[ "$(wc -l <expected)" -gt 20000 ] || fail "Lackey printed $(wc -l <expected) lines"
cmp -s expected found || fail "the first difference: $(diff expected found | head -n 4 | tr '\n' ' ')"
