/* `trackway blocks --json`. */
#ifndef TW_BLOCKS_JSON_H
#define TW_BLOCKS_JSON_H

#include "report/blocks.h"

/* The profile and its likely paths as JSON. */
void tw_blocks_json(FILE *f, const struct tw_blocks_report *r, const struct tw_superblocks *paths);

#endif
