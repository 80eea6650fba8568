/*
 * Names kept with a recording: its file `names` (docs/format.md), with one block for each name table.
 */
#ifndef TW_NAMES_KEPT_H
#define TW_NAMES_KEPT_H

#include "names/file_store.h"
#include "names/table.h"

#include <stdint.h>
#include <trackway/recording.h>

struct tw_ahead;

/* A table as bytes, from malloc. NULL: no memory. */
uint8_t *tw_name_table_pack(const struct tw_name_table *t, size_t *n);

/* Fills *out, which is all zeros, from such bytes. TW_ERR_DAMAGED, TW_ERR_MEMORY; tw_name_table_free in any case. */
int tw_name_table_unpack(const uint8_t *bytes, size_t n, struct tw_name_table *out);

/*
 * Gathers the names of what ran in the recording in directory `dir`, which may still be open for writing, and stores
 * them there, replacing earlier ones. `store`: keeps names of files for other recordings; may be NULL. 0 or an enum
 * tw_error.
 */
int tw_names_keep(const char *dir, const struct tw_name_store *store, struct tw_ahead *ahead);

/* The same for an open recording; one in memory (recording.h) must know its directory. `ahead`: its files opened ahead, or NULL. */
int tw_names_keep_of(const struct tw_recording *r, const struct tw_name_store *store, struct tw_ahead *ahead);

#endif
