/* What the parts of `trackway blocks` share. */
#ifndef TW_CLI_BLOCKS_H
#define TW_CLI_BLOCKS_H

#include "report/blocks.h"

/* The profile and its likely paths as JSON. */
void tw_blocks_json(FILE *f, const struct tw_blocks_report *r, const struct tw_superblocks *paths);

#endif
