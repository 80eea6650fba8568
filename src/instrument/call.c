/*
 * call: a function call per block and per reference, the simple slow way (engine/record/clean_call.h), and nothing else.
 */
#include "engine/record/instrumentor.h"

const struct instrumentor tw_instrument_call = {
    .name = "call",
    .format = TW_FORMAT_CALL,
    .records = true,
    .logs = true,
};
