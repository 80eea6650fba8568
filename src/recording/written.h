/*
 * What a writer has written of a recording, except chunks, remembered as long as it is little. So it need not be read
 * and unpacked again at the end, which takes longer than many a short program.
 */
#ifndef TW_WRITTEN_H
#define TW_WRITTEN_H

#include "recording/recording.h"

/* All zeros: nothing is remembered, and all may be called. */
struct tw_written {
	struct tw_recording *recording; /* NULL: it was too much, or there was no memory */
	size_t bytes;                   /* copied */
	int is_built;
};

void tw_written_begin(struct tw_written *w, const struct tw_recording_info *info, int dir_fd);
void tw_written_end(struct tw_written *w);

/*
 * A block of the code file, and the first chunk of a thread, have been written. `stays`: its bytes stay in place as
 * long as this is used; otherwise they are copied, if they are few.
 */
void tw_written_block(struct tw_written *w, uint32_t kind, const void *bytes, size_t n, int stays);
void tw_written_thread(struct tw_written *w, const struct tw_thread_info *thread);

/* All of it as a recording without chunks, which may not grow any more; or NULL. Owned by the writer. */
const struct tw_recording *tw_written_recording(struct tw_written *w);

#endif
