/*
 * Block profiles for people and for other programs: text, CSV, or a control-flow graph for Graphviz.
 */
#ifndef TW_BLOCKS_H
#define TW_BLOCKS_H

#include "analyze/profile.h"
#include "analyze/superblock.h"

#include <stdio.h>
#include <trackway/names.h>

struct tw_blocks_report {
	const struct tw_profile *profile;
	const char *source;     /* what was profiled, for titles */
	struct tw_names *names; /* NULL: the source knows no modules */
	uint64_t insns_once;    /* instructions as report counts them: repeated ones once; 0: unknown in a trace */
	double threshold;       /* edges of an IJ block with less than this share of its executions are left out (0..1) */
};

/* Whether an edge of block `b` is to be shown. */
int tw_blocks_shows(const struct tw_blocks_report *r, const struct tw_profile_block *b, const struct tw_profile_edge *e);

/* The process whose modules name the code of a block. */
uint32_t tw_blocks_pid(const struct tw_blocks_report *r, const struct tw_profile_block *b);

/* "main+0x12 file.c:34" for the beginning of a block; "" if nothing is known. */
void tw_blocks_place(const struct tw_blocks_report *r, const struct tw_profile_block *b, char *to, size_t size);

/* All blocks of one kind, after a header that explains the columns. `kind`: "Static" or "Dynamic". */
void tw_blocks_text(FILE *f, const struct tw_blocks_report *r, const struct tw_profile_blocks *all, const char *kind);

/* Summary figures, the `top` hottest static blocks (0: all), and the paths. */
void tw_blocks_summary(FILE *f, const struct tw_blocks_report *r, const struct tw_superblocks *paths, uint64_t top);

/* The paths alone. */
void tw_blocks_superblocks(FILE *f, const struct tw_blocks_report *r, const struct tw_superblocks *paths);

/* Both kinds of blocks as comma-separated values, one row for each block. */
void tw_blocks_csv(FILE *f, const struct tw_blocks_report *r);

struct tw_graph_options {
	const char *function; /* only blocks of this function; NULL: of all */
	uint64_t most;        /* only so many of the hottest blocks; 0: all */
};

/* The control-flow graph of the static blocks. 0; 1: no block of that function ran; or TW_ERR_MEMORY. */
int tw_blocks_graph(FILE *f, const struct tw_blocks_report *r, const struct tw_graph_options *options);

#endif
