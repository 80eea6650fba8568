/*
 * Opens files of programs while they are being recorded: most of the time for naming code goes into unpacking debug
 * information, which needs only the file. So this work is not left for one processor after a short program has ended.
 * Only for programs for which nothing is stored yet (file_store.h).
 */
#ifndef TW_AHEAD_H
#define TW_AHEAD_H

#include "base/channel.h"
#include "names/file_store.h"
#include "names/dwarf_file.h"

struct tw_ahead;

/*
 * A thread watches for about a second what the first processes in the channel have mapped, and opens those files,
 * except the engine's and those in the store; it lives for one more second. Channel and engine path must outlive it.
 * NULL: impossible, or no use; all other functions accept NULL.
 */
struct tw_ahead *tw_ahead_begin(const struct tw_control *control, const struct tw_name_store *store, const char *engine);

/* Opens nothing more. From then on, the opened files are available. */
void tw_ahead_end(struct tw_ahead *a);

/* The open file at `path`, from then on the caller's. 0: it was not opened, or the file has changed. For each path by one thread only. */
int tw_ahead_take(struct tw_ahead *a, const char *path, struct tw_dwarf_file *out);

void tw_ahead_free(struct tw_ahead *a);

#endif
