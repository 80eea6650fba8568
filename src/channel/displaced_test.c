/* What the recorder and its analyzers take if they share one processor with the program. */
#include "channel/displaced.h"
#include "unit.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TAKEN_MS = 50, WRITTEN = 1 << 20 };

/* of a processor's time that analyzers took */
static const uint64_t price_of_taken = (uint64_t)TAKEN_MS * 1000000 / (WRITTEN / 1024);

/* A process that computes until it is killed, on the first of our processors. */
static pid_t compute(void)
{
	const pid_t pid = fork();
	if (pid)
		return pid;
	cpu_set_t ours, first;
	CPU_ZERO(&ours);
	CPU_ZERO(&first);
	sched_getaffinity(0, sizeof ours, &ours);
	int cpu = 0;
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &ours))
		cpu++;
	CPU_SET(cpu, &first);
	sched_setaffinity(0, sizeof first, &first);
	alarm(60); /* whatever becomes of who began it */
	for (volatile unsigned turns = 0;; turns++)
		;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int tells_delays(void)
{
	return !access("/proc/self/schedstat", R_OK);
}

/* The processor time of a process, in ns; 0: there is none. */
static uint64_t time_of(pid_t pid)
{
	struct timespec t = {0};
	clockid_t clock;
	if (!pid || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Until the process has taken TAKEN_MS more, or, without a process, for that time. */
static void wait_for(pid_t pid)
{
	const uint64_t until = time_of(pid) + TAKEN_MS * 1000000;
	do
		nanosleep(&(struct timespec){.tv_nsec = TAKEN_MS * 1000000}, NULL);
	while (time_of(pid) && time_of(pid) < until);
}

/* Cost in ns of 1,024 bytes, if `program` has written WRITTEN of them meanwhile and live `analyzers` run. */
static uint64_t price(struct tw_control *control, pid_t program, pid_t analyzers)
{
	struct tw_collector *c = calloc(1, sizeof *c);
	if (!c)
		exit(1);
	c->control = control;
	c->analyzers = analyzers;
	control->slot[0].pid = control->slot[0].tid = (uint32_t)program;
	atomic_store(&control->slot[0].state, TW_SLOT_ACTIVE);
	atomic_store(&control->budget.displaced_per_1024, 0);
	tw_displaced_look(c);
	wait_for(analyzers);
	c->written += WRITTEN;
	tw_displaced_look(c);
	free(c);
	return atomic_load(&control->budget.displaced_per_1024);
}

int main(void)
{
	struct tw_control *control = calloc(1, sizeof *control);
	if (!control)
		return 1;
	atomic_store(&control->slots_used, 1);
	if (!tells_delays()) {
		printf("the kernel does not tell how long a thread has waited\n");
		return 77;
	}
	const pid_t program = compute(), analyzers = compute();
	const uint64_t alone = price(control, program, 0), beside = price(control, program, analyzers);
	end(analyzers);
	const uint64_t ended = price(control, program, analyzers);
	end(program);
	CHECK(beside > price_of_taken / 2); /* the program has waited for as long; we ourselves sleep */
	CHECK(alone < price_of_taken / 2);
	CHECK(ended < price_of_taken / 2);
	free(control);
	return UNIT_END();
}
