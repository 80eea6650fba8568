# Every flag a program may set, and keeps on this machine, stays as it set it: over memory references, branches taken for the first time, calls and system calls; logged or not.
. "$(dirname "$0")/../lib.sh"
cc_program flags <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static unsigned long word[2] __attribute__((aligned(64)));
/* CF, PF, AF, ZF, SF, OF; and those that are rarely set: DF, NT, AC, ID */
static const unsigned long bits[] = {1, 4, 0x10, 0x40, 0x80, 0x800, 0x400, 0x4000, 0x40000, 0x200000};
enum { N = sizeof bits / sizeof *bits };

__attribute__((noinline)) static unsigned long through(unsigned long flags, void *where)
{
	unsigned long after;
	/* references before and after an indirect branch and a call, none of which changes a flag; the red zone is not used */
	__asm__ volatile("push %1; popf\n\t"
	                 "mov (%2), %%rcx; mov %%rcx, 8(%2); lea 1(%%rcx), %%rcx; mov %%rcx, (%2)\n\t"
	                 "jmp *%3\n\t"
	                 "1: mov 8(%2), %%rcx; call 2f; jmp 3f\n\t"
	                 "2: mov %%rcx, 8(%2); ret\n\t"
	                 ".globl there\n\tthere: jmp 1b\n\t"
	                 "3: pushf; pop %0; pushq $0x202; popf"
	                 : "=&r"(after)
	                 : "r"(flags), "r"(word), "r"(where)
	                 : "rcx", "cc", "memory");
	return after;
}

static unsigned long over_call(unsigned long flags)
{
	unsigned long after, number = 39; /* getpid */
	__asm__ volatile("push %2; popf; syscall; pushf; pop %1; pushq $0x202; popf" : "+a"(number), "=&r"(after) : "r"(flags) : "rcx", "r11", "cc", "memory");
	return after;
}

extern char there[];

/* Of the flags, those that are there after either when they were set, and are not when they were not. */
static unsigned long kept(void)
{
	unsigned long mask = 0;
	for (int k = 0; k < N; k++) {
		const unsigned long set = 0x202 | bits[k];
		if (through(set, there) & over_call(set) & ~through(0x202, there) & ~over_call(0x202) & bits[k])
			mask |= bits[k];
	}
	return mask;
}

int main(int argc, char **argv)
{
	unsigned long mask = argc > 1 ? strtoul(argv[1], NULL, 16) : 0, wrong = 0, done = 0;
	if (!mask)
		return printf("%lx\n", kept()) < 0;
	for (unsigned n = 0; n < 1u << N; n++) {
		unsigned long flags = 0x202;
		for (int k = 0; k < N; k++)
			flags |= n >> k & 1 ? bits[k] & mask : 0;
		for (int turn = 0; turn < 3; turn++, done++) {
			wrong += ((through(flags, there) ^ flags) & mask) != 0;
			wrong += ((over_call(flags) ^ flags) & mask) != 0;
		}
	}
	printf("%lu combinations, %lu wrong, %lu\n", done, wrong, word[0]);
	return wrong != 0;
}
END
kept=$(./flags)
[ $((0x$kept & 0xcd5)) = $((0xcd5)) ] || fail "this machine does not even keep the flags of arithmetic: $kept"
for flag in 4000:NT 40000:AC 200000:ID; do
	[ $((0x$kept & 0x${flag%:*})) != 0 ] || untested "EFLAGS.${flag#*:} over a system call"
done
./flags "$kept" || fail "the program is wrong natively"
whole ./flags "$kept"
RECORD_OPTIONS=(-f call)
same_as_native ./flags "$kept"
RECORD_OPTIONS=(-f none)
same_as_native ./flags "$kept"
RECORD_OPTIONS=(-f dep06 --hot=1)
whole ./flags "$kept"
