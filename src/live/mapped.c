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
	size_t n = 0;
	for (size_t at = 0; chunk->n_e - at >= sizeof(struct tw_event_header);) {
		const struct tw_event_header *h = (const struct tw_event_header *)(chunk->e + at);
		const size_t left = chunk->n_e - at - sizeof *h, bytes = (h->bytes + 7u) & ~(size_t)7;
		if (!tw_event_valid(h, chunk->e + at + sizeof *h, left) || bytes > left)
			break;
		if (is_told(h)) {
			memcpy(to + n, h, sizeof *h + bytes);
			n += sizeof *h + bytes;
		}
		at += sizeof *h + bytes;
	}
	return n;
}
