#include "recording/written.h"
#include "recording/reader_state.h"
#include "recording/value_map.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20 }; /* for longer recordings reading again takes little of their time */

void tw_written_begin(struct tw_written *w, const struct tw_recording_info *info, int dir_fd)
{
	*w = (struct tw_written){0};
	if (info->format == TW_FORMAT_NONE || tw_recording_live(info, &w->recording))
		return;
	tw_value_map_free(w->recording->values); /* it has no chunks that could be read */
	w->recording->values = NULL;
	w->recording->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	if (w->recording->dir_fd < 0)
		tw_written_end(w);
}

void tw_written_end(struct tw_written *w)
{
	tw_recording_close(w->recording);
	w->recording = NULL;
}

/* A copy of the block, which the recording owns then. NULL: no memory. */
static const void *copy_of(struct tw_recording *r, const void *bytes, size_t n)
{
	void *copy = malloc(n), **keep = copy ? tw_reader_add(&r->blocks, sizeof *keep) : NULL;
	if (keep)
		return *keep = memcpy(copy, bytes, n);
	free(copy);
	return NULL;
}

/* 0: it cannot be remembered. */
static int keep_block(struct tw_written *w, uint32_t kind, const void *bytes, size_t n, int stays)
{
	const struct tw_file_block block = {.kind = kind, .raw = n};
	w->bytes += stays ? 0 : n;
	if (w->bytes > MOST_BYTES)
		return 0;
	const void *at = stays ? bytes : copy_of(w->recording, bytes, n);
	return at && !tw_reader_add_block(w->recording, &block, at, 0) && !w->recording->problems.n;
}

void tw_written_block(struct tw_written *w, uint32_t kind, const void *bytes, size_t n, int stays)
{
	if (w->recording && n && !keep_block(w, kind, bytes, n, stays))
		tw_written_end(w);
}

void tw_written_thread(struct tw_written *w, const struct tw_thread_info *thread)
{
	const struct tw_chunk first = {.thread = thread->serial};
	if (w->recording && tw_recording_live_chunk(w->recording, thread, &first))
		tw_written_end(w);
}

const struct tw_recording *tw_written_recording(struct tw_written *w)
{
	if (w->recording && !w->is_built && tw_processes_build(&w->recording->processes))
		tw_written_end(w);
	w->is_built = 1;
	return w->recording;
}
