/*
 * The collector's end of descriptor tables (base/channel.h): takes the descriptors that programs put into theirs.
 * When a program has ended, it releases the table and forgets everything about its fragments, here, in the
 * demultiplexer, the expansion and the output.
 *
 * By the drain loop only.
 */
#ifndef TW_DESCRIPTOR_TABLES_H
#define TW_DESCRIPTOR_TABLES_H

#include "channel/demux.h"
#include "channel/expand.h"
#include "channel/output.h"

struct tw_descriptor_tables;

/* All of it must stay as long as the tables; expand may be NULL. */
struct tw_tables_options {
	int fd;
	struct tw_control *control;
	struct tw_demux *demux;
	struct tw_expand *expand;
	struct tw_output *output;
};

struct tw_descriptor_tables *tw_tables_new(const struct tw_tables_options *options); /* NULL: no memory */
void tw_tables_free(struct tw_descriptor_tables *r);

/*
 * Takes what is new in a table, and in those it is based on, before buffers of its program are read and when a slot
 * that names it is freed. Table 0 is none. TW_ERR_DAMAGED if there is anything but descriptors (what precedes it was
 * taken, and no more of this table will be), TW_ERR_MEMORY, TW_ERR_SYSTEM.
 */
int tw_tables_take(struct tw_descriptor_tables *r, uint32_t table);

/*
 * Writes all descriptors of a table, and of those it is based on, to `at` in a file, in the form of a single table
 * that belongs to no process. Returns the number of bytes written from `at` on; 0: not possible.
 */
uint64_t tw_tables_image(const struct tw_descriptor_tables *r, uint32_t table, int fd, uint64_t at);

/* The path counted by this window entry in programs of the table. NULL: none. */
const struct tw_descriptor *tw_tables_tallied(const struct tw_descriptor_tables *r, uint32_t table, uint64_t entry);

/*
 * Releases tables: those of programs that had ended at the last call already, if everything taken from them is done.
 * To be called now and then.
 */
int tw_tables_sweep(struct tw_descriptor_tables *r);

/* Descriptors taken so far. */
uint64_t tw_tables_fragments(const struct tw_descriptor_tables *r);

#endif
