#include "channel/holder.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct tw_holder {
	struct tw_control *control;
	pthread_t thread;
	sem_t end;
};

/* Of this thread alone. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	syscall(SYS_capset, &head, none);
}

static void *hold(void *arg)
{
	struct tw_holder *h = arg;
	drop_capabilities();
	atomic_store(&h->control->holder, (uint32_t)syscall(SYS_gettid));
	while (sem_wait(&h->end) && errno == EINTR)
		;
	return NULL;
}

struct tw_holder *tw_holder_look(struct tw_control *control, struct tw_holder *holder)
{
	if (holder || atomic_load(&control->holder) != TW_HOLDER_WANTED)
		return holder;
	struct tw_holder *h = calloc(1, sizeof *h);
	if (!h)
		return NULL;
	h->control = control;
	sem_init(&h->end, 0, 0);
	if (!pthread_create(&h->thread, NULL, hold, h))
		return h;
	sem_destroy(&h->end);
	free(h);
	return NULL;
}

void tw_holder_end(struct tw_holder *holder)
{
	if (!holder)
		return;
	sem_post(&holder->end);
	pthread_join(holder->thread, NULL);
	sem_destroy(&holder->end);
	free(holder);
}
