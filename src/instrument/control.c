/*
 * dep-c and bb_pc: control flow only. dep-c stores the 2-byte tag of each fragment, bb_pc 4 bytes for each block: the common way to trace
 * blocks, to compare with. (They are a number instead of the block's address: as long, and found by the collector without a search.)
 */
#include "instrument/instrumentor.h"

const struct instrumentor tw_instrument_dep_c = {
    .name = "dep-c",
    .format = TW_FORMAT_DEP_C,
    .records = true,
    .superblocks = true,
};

const struct instrumentor tw_instrument_bb_pc = {
    .name = "bb_pc",
    .format = TW_FORMAT_BB_PC,
    .records = true,
};
