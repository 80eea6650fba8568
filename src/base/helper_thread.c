#include "base/helper_thread.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LOW = 10, LOWEST = 19 }; /* nice values: next to a thread with 0 they get a tenth and a seventieth of a processor */

int tw_helper_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int failed = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !failed;
}

void tw_helper_thread_yield(enum tw_priority to)
{
	setpriority(PRIO_PROCESS, (id_t)gettid(), to == TW_PRIORITY_LOW ? LOW : LOWEST);
}
