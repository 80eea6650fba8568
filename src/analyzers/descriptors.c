#include "analyzers/descriptors.h"
#include "base/array.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <trackway/recording.h>

enum { MOST = 1 << 20 };

static struct tw_open_descriptors *table_of(const struct tw_descriptors *d, uint32_t program)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->tables[i].program == program)
			return &d->tables[i];
	return NULL;
}

static struct tw_open_descriptors *new_table(struct tw_descriptors *d, uint32_t program)
{
	struct tw_open_descriptors *tables = tw_array_room(d->tables, d->n, &d->room, sizeof *tables);
	if (!tables)
		return NULL;
	d->tables = tables;
	tables[d->n] = (struct tw_open_descriptors){.program = program};
	return &tables[d->n++];
}

static int set(struct tw_descriptors *d, uint32_t program, int64_t descriptor, uint32_t channel)
{
	struct tw_open_descriptors *t = table_of(d, program);
	if (descriptor < 0 || descriptor >= MOST)
		return 0;
	t = t ? t : new_table(d, program);
	if (!t)
		return TW_ERR_MEMORY;
	if ((uint64_t)descriptor >= t->n) {
		uint32_t *of = tw_array_zeros(t->channel, (size_t)descriptor, &t->n, sizeof *of);
		if (!of)
			return TW_ERR_MEMORY;
		t->channel = of;
	}
	t->channel[descriptor] = channel;
	return 0;
}

static uint32_t get(const struct tw_descriptors *d, uint32_t program, uint64_t descriptor)
{
	const struct tw_open_descriptors *t = table_of(d, program);
	return t && descriptor < t->n ? t->channel[descriptor] : TW_CHANNEL_UNKNOWN;
}

/* The same, of one whose making was not seen too. */
static uint32_t known(const struct tw_descriptors *d, uint32_t program, uint64_t descriptor)
{
	enum { STANDARD = 3 };
	const uint32_t channel = get(d, program, descriptor);
	if (channel != TW_CHANNEL_UNKNOWN)
		return channel;
	return descriptor < STANDARD ? TW_CHANNEL_NONE : TW_CHANNEL_PIPES;
}

uint32_t tw_descriptors_channel(const struct tw_descriptors *d, uint32_t program, uint64_t descriptor)
{
	const uint32_t channel = known(d, program, descriptor);
	return channel >= TW_CHANNEL_MEMFDS ? TW_CHANNEL_NONE : channel;
}

uint32_t tw_descriptors_memfd(const struct tw_descriptors *d, uint32_t program, uint64_t descriptor)
{
	const uint32_t channel = get(d, program, descriptor);
	return channel >= TW_CHANNEL_MEMFDS ? channel - TW_CHANNEL_MEMFDS + 1 : 0;
}

int tw_descriptors_syscall(struct tw_descriptors *d, uint32_t program, const struct tw_syscall *call)
{
	if (call->result < 0)
		return 0;
	switch (call->number) {
	case SYS_open:
	case SYS_openat:
	case SYS_openat2:
	case SYS_creat:
	case SYS_epoll_create:
	case SYS_epoll_create1:
	case SYS_inotify_init:
	case SYS_inotify_init1:
		return set(d, program, call->result, TW_CHANNEL_NONE);
	case SYS_memfd_create:
		return set(d, program, call->result, TW_CHANNEL_MEMFDS + d->memfds++);
	case SYS_eventfd:
	case SYS_eventfd2:
	case SYS_timerfd_create:
		return set(d, program, call->result, TW_CHANNEL_EVENTS + d->events++);
	case SYS_socket:
	case SYS_accept:
	case SYS_accept4:
		return set(d, program, call->result, TW_CHANNEL_SOCKETS);
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3:
		return set(d, program, call->result, known(d, program, call->args[0]));
	case SYS_fcntl:
		if (call->args[1] != F_DUPFD && call->args[1] != F_DUPFD_CLOEXEC)
			return 0;
		return set(d, program, call->result, known(d, program, call->args[0]));
	case SYS_close:
		return set(d, program, (int64_t)call->args[0], TW_CHANNEL_UNKNOWN);
	default:
		return 0;
	}
}

int tw_descriptors_fork(struct tw_descriptors *d, uint32_t parent, uint32_t child)
{
	const struct tw_open_descriptors *from = table_of(d, parent);
	const size_t n = from ? from->n : 0;
	int error = 0;
	for (size_t i = 0; i < n && !error; i++)
		error = set(d, child, (int64_t)i, get(d, parent, i));
	return error;
}

void tw_descriptors_free(struct tw_descriptors *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->tables[i].channel);
	free(d->tables);
	*d = (struct tw_descriptors){0};
}
