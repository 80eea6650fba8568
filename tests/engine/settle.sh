# Wherever a signal strikes, its handler sees the flags and registers that the program has there, also where the engine counts with the flags or a
# register that the next instruction overwrites (src/engine/record/tally_code.h). A timer strikes a loop whose every value is known.
. "$(dirname "$0")/../lib.sh"
cc_program program -O1 <<'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <ucontext.h>

enum { ZF = 0x40, SF = 0x80, CF = 1, OF = 0x800, PF = 4, AF = 0x10, ALL = ZF | SF | CF | OF | PF | AF };
enum { EQUAL = ZF | PF, LESS = SF | CF | PF | AF }; /* after cmp 1, 1; after cmp 1, 2 */

/* Three blocks. In the first no instruction writes flags, in the others the last but one does. */
void loop(void);
__asm__(".globl loop\nloop: push %rbx\n mov $1, %eax\n mov $2, %edx\n mov $1, %r8d\n mov $1, %ebx\n mov $7, %edi\n cmp %rbx, %r8\n jmp first\n"
        "first: mov $5, %edi\n"
        "first_1: mov %rax, %rsi\n jmp second\n"
        "second: mov $7, %edi\n"
        "second_1: cmp %rdx, %rax\n"
        "second_2: jne third\n ud2\n"
        "third: lea 1(%rdx), %rsi\n"
        "third_1: cmp %rbx, %r8\n"
        "third_2: je first\n pop %rbx\n ret\n");
extern char first[], first_1[], second[], second_1[], second_2[], third[], third_1[], third_2[];

static const struct { const char *at; int flags; long rdi; } known[] = {
    {first, EQUAL, 7}, {first_1, EQUAL, 5}, {second, EQUAL, 5}, {second_1, EQUAL, 7}, {second_2, LESS, 7},
    {third, LESS, 7},  {third_1, LESS, 7},  {third_2, EQUAL, 7},
};
enum { PLACES = sizeof known / sizeof *known, STRIKES = 5000 };
static unsigned long strikes;

/* Ends the loop after so many times, and where something is wrong: the next comparison finds rbx different. */
static void strike(int signo, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	(void)signo, (void)info;
	for (int k = 0; k < PLACES; k++) {
		if ((const char *)regs[REG_RIP] != known[k].at || regs[REG_RBX] != 1)
			continue;
		int flags = (int)regs[REG_EFL] & ALL;
		if (flags == known[k].flags && regs[REG_RDI] == known[k].rdi && ++strikes < STRIKES)
			continue;
		if (strikes < STRIKES)
			printf("at place %d flags %x, rdi %lld\n", k, (unsigned)flags, regs[REG_RDI]);
		regs[REG_RBX] = 2;
	}
}

int main(void)
{
	struct sigaction a = {.sa_sigaction = strike, .sa_flags = SA_SIGINFO};
	struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	loop();
	setitimer(ITIMER_REAL, &never, NULL);
	puts("done");
	return 0;
}
END
[ "$(./program)" = done ] || fail "the program itself does not work here"
for options in "-f none" "-f dep-c" "-f dep" "-f dep --hot=0" "-f dep-c --hot=0" "-f bb_pc"; do
	timeout 60 "$TW" record -q --sink=count $options -o r ./program >out || fail "record $options: exit status $?"
	[ "$(cat out)" = done ] || fail "record $options: $(head -3 out)"
done
