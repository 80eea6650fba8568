# Programs with so much code that tables of lookups are wide, in the program itself and in a library: results, and registers in signal handlers, as natively; also with what
# was kept, which each kind of its processes has for itself. Recorded formats have no wide tables.
. "$(dirname "$0")/../lib.sh"
cat >code.S <<'END_S'
/* 600 functions 64 kB from each other: four at a time have the same lower half of their return address. Each adds its number to rdi. */
	.data
	.p2align 3
table:
	.text
	.set k, 0
	.rept 600
	.org k * 65536 + k / 4 * 32
9:	call add
	lea k(%rdi), %rdi
	ret
	.data
	.quad 9b
	.text
	.set k, k + 1
	.endr
add:	lea (%rdi, %rdi, 2), %rdi
	ret
/* go(rdi: start, rsi: rounds): all functions; rcx and r10 stay as they are. */
	.globl go
go:	push %rbx
	push %rbp
	movabs $0x1122334455667788, %rcx
	movabs $0x8877665544332211, %r10
1:	lea table(%rip), %rbx
	mov $600, %ebp
2:	call *(%rbx)
	add $8, %rbx
	dec %ebp
	jnz 2b
	dec %rsi
	jnz 1b
	mov %rdi, %rax
	pop %rbp
	pop %rbx
	ret
	.section .note.GNU-stack, "", @progbits
END_S
cat >main.c <<'END_C'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>
unsigned long go(unsigned long, long);
static volatile long signals, wrong;

static void on_alarm(int s, siginfo_t *i, void *context)
{
	const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned long pc = (unsigned long)r[REG_RIP], from = (unsigned long)go, to = from + 46;
	(void)s;
	(void)i;
	if (pc < from - 599 * 65536ul || pc >= to || (pc >= from && pc < from + 22)) /* not in the functions, nor in the loop that calls them */
		return;
	signals++;
	wrong += r[REG_RCX] != 0x1122334455667788 || r[REG_R10] != (greg_t)0x8877665544332211;
}

int main(int argc, char **argv)
{
	struct sigaction a = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART};
	const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
	const long rounds = argc > 1 ? atol(argv[1]) : 1;
	unsigned long sum = 1;
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	do
		sum = go(sum, rounds);
	while (argc > 2 && signals < atol(argv[2]));
	setitimer(ITIMER_REAL, &never, NULL);
	if (argc > 2)
		sum = 0;
	printf("%lx, %ld wrong\n", sum, wrong);
	return wrong != 0;
}
END_C
"$CC" -O1 -o program main.c code.S || fail "the program does not compile"
"$CC" -O1 -fPIC -shared -o libcode.so code.S || fail "the library does not compile"
"$CC" -O1 -o linked main.c libcode.so -Wl,-rpath,"$PWD" || fail "the program with a library does not compile"
sleep 4.2 # so old that they have an identity

for p in program linked; do
	"./$p" 50 >native || fail "natively: status $?"
	for time in first second; do
		"$TW" record -q -f none -o r.tw "./$p" 50 >ours || fail "$p, the $time time: status $?: $(cat ours)"
		cmp native ours || fail "$p, the $time time: another output"
		"$TW" record -q -f none -o r.tw "./$p" 50 200 >ours || fail "$p, the $time time: registers in handlers: $(cat ours)"
	done
	"$TW" record -q --sink=count -o r.tw "./$p" 5 >/dev/null || fail "$p, recorded: status $?"
done

# begins WHETHER PROGRAM ARGUMENT...: does it begin with (1) or without (0) translations that were kept?
begins() {
	local whether=$1
	shift
	"$TW" record -f none --keep=kinds -o r.tw "$@" >/dev/null 2>said || fail "$*: status $?"
	if grep -q '; 1 of 1 programs' said; then [ "$whether" = 1 ]; else [ "$whether" = 0 ]; fi || fail "$*: $(cat said)"
}
# each kind of process of a large program has translations of its own, whatever else its arguments are; a small program's are one kind
begins 0 ./program 2
begins 0 ./program 2 0 --type=renderer --id=1
begins 1 ./program 2 0 --id=2 --type=renderer
begins 0 ./program 2 0 --type=utility --utility-sub-type=network
begins 0 ./program 2 0 --type=utility --utility-sub-type=storage
begins 1 ./program 2 0 --type=utility --utility-sub-type=network
begins 1 ./program 3
begins 0 ./linked 2
begins 1 ./linked 2 0 --type=renderer

grep -m1 '^flags' /proc/cpuinfo | grep -qw bmi2 || { untested "wide tables: no bmi2 here"; exit 0; }
family=$(awk '/^cpu family/ { print $4; exit }' /proc/cpuinfo)
[ "$family" = 6 ] || [ "$family" -ge 25 ] || { untested "wide tables: pext may be slow here"; exit 0; }
for p in program linked; do
	"$TW" record -q -f none --show-fragment=all -o r.tw "./$p" 1 >/dev/null 2>shown || fail "$p: --show-fragment: status $?"
	grep -q pext shown || fail "$p: tables are not wide"
done
"$TW" record -q -f dep --sink=count --show-fragment=all -o r.tw ./program 1 >/dev/null 2>shown
! grep -q pext shown || fail "tables are wide where something is recorded"
"$TW" record -q -f none --show-fragment=all -o r.tw /bin/true >/dev/null 2>shown
! grep -q pext shown || fail "tables are wide in a small program"
