# Processes that are stopped again and again while they run new code, whatever the engine was doing for them, and one that runs new code itself meanwhile: it never waits for them.
. "$(dirname "$0")/../lib.sh"
cc_program stopper -D_GNU_SOURCE <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
enum { CHILDREN = 3, ROUNDS = 120, FUNCTIONS = 30, BYTES = 1 << 16 };
static unsigned char *place;
static unsigned at, made;
/* A function that has not been there before: mov $n, %eax; ret. */
static unsigned run_new_code(void)
{
	unsigned char *f = place + at;
	made++;
	f[0] = 0xb8;
	memcpy(f + 1, &made, sizeof made);
	f[5] = 0xc3;
	at = (at + 64) % BYTES;
	return ((unsigned (*)(void))f)() - made;
}
static void be_child(pid_t parent)
{
	unsigned wrong = 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		exit(1);
	while (!wrong)
		wrong |= run_new_code();
	exit(2);
}
int main(void)
{
	pid_t child[CHILDREN];
	unsigned wrong = 0, stopped = 0, ended = 0;
	int status;
	place = mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED)
		return 1;
	const pid_t self = getpid();
	for (int k = 0; k < CHILDREN; k++)
		if (!(child[k] = fork()))
			be_child(self);
	for (int round = 0; round < ROUNDS; round++) {
		const pid_t pid = child[round % CHILDREN];
		kill(pid, SIGSTOP);
		stopped += waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status);
		for (int k = 0; k < FUNCTIONS; k++)
			wrong |= run_new_code();
		kill(pid, SIGCONT);
	}
	for (int k = 0; k < CHILDREN; k++) {
		kill(child[k], SIGKILL);
		ended += waitpid(child[k], &status, 0) == child[k] && WIFSIGNALED(status);
	}
	printf("wrong %u, stopped %u, ended %u\n", wrong, stopped, ended);
	return 0;
}
END
for f in dep-c dep; do
	RECORD_OPTIONS=(-f $f)
	same_as_native ./stopper
done
