#include "recording/written.h"
#include "recording/reader_state.h"
#include "recording/value_map.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20 }; /* of what longer recordings have read what is wanted again: that takes little of their time */

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

/* A copy of the block, which the recording owns then. 0: no memory. */
static int keep_block(struct tw_recording *r, uint32_t kind, const void *bytes, size_t n)
{
	const struct tw_file_block block = {.kind = kind, .raw = n};
	void *copy = malloc(n), **keep = copy ? tw_reader_add(&r->blocks, sizeof *keep) : NULL;
	if (!keep) {
		free(copy);
		return 0;
	}
	*keep = memcpy(copy, bytes, n);
	return !tw_reader_add_block(r, &block, copy, 0) && !r->problems.n;
}

void tw_written_block(struct tw_written *w, uint32_t kind, const void *bytes, size_t n)
{
	if (!w->recording || !n)
		return;
	w->bytes += n;
	if (w->bytes > MOST_BYTES || !keep_block(w->recording, kind, bytes, n))
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
