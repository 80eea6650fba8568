/*
 * Files of programs that still run, opened while they are recorded: unpacking debug information is most of what naming code takes, and needs nothing but the file. So it does not come
 * when a short program has ended, on one processor. For programs of which nothing is kept (file_store.h).
 */
#ifndef TW_AHEAD_H
#define TW_AHEAD_H

#include "base/channel.h"
#include "names/file_store.h"
#include "names/dwarf_file.h"

struct tw_ahead;

/*
 * A thread looks for a second or so what the first processes in the channel have mapped, and opens it, but for files that the store has, and the engine's; it is there for a second more.
 * Channel and path of the engine must outlive it. NULL: it cannot,
 * or it is of no use here; all other functions accept that.
 */
struct tw_ahead *tw_ahead_begin(const struct tw_control *control, const struct tw_name_store *store, const char *engine);

/* Nothing more is opened. What has been is to be had from then on. */
void tw_ahead_end(struct tw_ahead *a);

/* The open file at `path`, the caller's from then on. 0: it was not opened, or it is another file now. For one path by one thread. */
int tw_ahead_take(struct tw_ahead *a, const char *path, struct tw_dwarf_file *out);

void tw_ahead_free(struct tw_ahead *a);

#endif
