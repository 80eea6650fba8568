#include "live/mapped.h"
#include "recording/recording.h"

#include <string.h>
#include <sys/syscall.h>
#include <trackway/event.h>

static int maps(const struct tw_syscall *call)
{
	switch (call->number) {
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_mremap:
	case SYS_brk:
	case SYS_shmat:
	case SYS_shmdt:
		return 1;
	default:
		return 0;
	}
}

static int is_told(const struct tw_event_header *h)
{
	return h->type == TW_EVENT_MAP || h->type == TW_EVENT_UNMAP || h->type == TW_EVENT_PROGRAM ||
	       (h->type == TW_EVENT_SYSCALL && maps((const void *)(h + 1)));
}

size_t tw_mapped_events(const struct tw_chunk *chunk, uint8_t *to)
{
	size_t n = 0, at = 0, begin = 0;
	for (const struct tw_event_header *h; (h = tw_event_next(chunk->e, chunk->n_e, &at)); begin = at)
		if (is_told(h)) {
			memcpy(to + n, h, at - begin);
			n += at - begin;
		}
	return n;
}
