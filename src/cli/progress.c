#include "cli/progress.h"
#include "channel/machine.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct tw_progress {
	struct tw_collector *collector;
	pthread_t thread;
	sigset_t usr1;
	uint64_t began, last_ns, last_bytes;
	int terminal;
	_Atomic int ended;
};

static double mega(uint64_t n)
{
	return (double)n / 1e6;
}

static void tell(struct tw_progress *p)
{
	struct tw_collector_progress now;
	tw_collector_progress(p->collector, &now);
	const uint64_t ns = tw_machine_ns(), passed = ns - p->last_ns;
	const double rate = passed ? (double)(now.stored - p->last_bytes) * 1e3 / (double)passed : 0;
	fprintf(stderr, "%strackway: %.1f s, %.0f M instructions, %.0f M references, %.1f MB stored, %.1f MB/s%s", p->terminal ? "\r" : "",
	        (double)(ns - p->began) / 1e9, mega(now.insns), mega(now.refs), mega(now.stored), rate, p->terminal ? "\033[K" : "\n");
	p->last_ns = ns;
	p->last_bytes = now.stored;
}

static void *run(void *arg)
{
	struct tw_progress *p = arg;
	const struct timespec second = {1, 0};
	while (!atomic_load(&p->ended)) {
		if (p->terminal)
			sigtimedwait(&p->usr1, NULL, &second);
		else
			sigwaitinfo(&p->usr1, NULL);
		if (!atomic_load(&p->ended))
			tell(p);
	}
	if (p->terminal)
		fputs("\r\033[K", stderr);
	return NULL;
}

struct tw_progress *tw_progress_begin(struct tw_collector *c)
{
	struct tw_progress *p = calloc(1, sizeof *p);
	sigset_t all, before;
	if (!p)
		return NULL;
	p->collector = c;
	p->began = p->last_ns = tw_machine_ns();
	p->terminal = isatty(2);
	sigemptyset(&p->usr1);
	sigaddset(&p->usr1, SIGUSR1);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int failed = pthread_create(&p->thread, NULL, run, p);
	sigaddset(&before, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!failed)
		return p;
	free(p);
	return NULL;
}

void tw_progress_end(struct tw_progress *p)
{
	if (!p)
		return;
	atomic_store(&p->ended, 1);
	pthread_kill(p->thread, SIGUSR1);
	pthread_join(p->thread, NULL);
	free(p);
}
