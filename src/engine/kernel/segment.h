/* The bases of the application's %fs and %gs. */
#ifndef TW_SEGMENT_H
#define TW_SEGMENT_H

#include "engine/kernel/room.h"

/* The application's base of this segment has changed. */
void tw_segment_based(struct thread *t, u32 seg, u64 base);

/* Sets a segment base of the application's: 0, or -errno. */
i64 tw_set_segment(struct thread *t, u32 seg, u64 base);

#endif
