/*
 * dep-c, bb_pc and cf_bit: control flow only. dep-c stores the 2-byte tag of each fragment. bb_pc stores 4 bytes for
 * each block: the common way to trace blocks, for comparison. (They are a number instead of the block's address:
 * equally long, and found by the collector without a search.) cf_bit stores one bit for each conditional branch, and
 * for each indirect branch the tag of its target (engine/record/bits.h); everything else follows from the code.
 */
#include "engine/record/instrumentor.h"

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

const struct instrumentor tw_instrument_cf_bit = {
    .name = "cf_bit",
    .format = TW_FORMAT_CF_BIT,
    .records = true,
};
