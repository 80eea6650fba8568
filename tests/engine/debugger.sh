# A debugger in miniature: what it traces is executed natively, so that it sees the program and not the engine.
. "$(dirname "$0")/../lib.sh"
need_ptrace
asm_program tiny <<'END2'
.globl _start
_start:
	mov $7, %ecx
1:	dec %ecx
	jnz 1b
	mov $60, %eax
	mov $5, %edi
	syscall
END2
cc_program debugger <<'END2'
#include <pthread.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
static void step(const char *program)
{
	struct user_regs_struct r;
	int status, steps = 0;
	pid_t p = fork();
	if (!p) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl(program, program, (char *)0);
		_exit(127);
	}
	waitpid(p, &status, 0);
	for (; WIFSTOPPED(status); steps++) {
		ptrace(PTRACE_GETREGS, p, 0, &r);
		if (steps < 3)
			printf("stopped by %d at %llx, rcx %llx\n", WSTOPSIG(status), r.rip, r.rcx);
		ptrace(PTRACE_SINGLESTEP, p, 0, 0);
		waitpid(p, &status, 0);
	}
	printf("%d steps, status %x\n", steps, status);
}
static void *in_thread(void *program)
{
	step(program);
	return NULL;
}
int main(void)
{
	pthread_t t;
	step("./tiny");
	pthread_create(&t, NULL, in_thread, "./tiny");
	pthread_join(t, NULL);
	return 0;
}
END2
same_as_native ./debugger
check_good
"$TW" dump --raw recording.tw >raw.txt
grep -q 'executed natively, unrecorded: .*a debugger' raw.txt || fail "the recording does not tell that a program was traced"
