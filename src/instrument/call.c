/*
 * call: a function call for each block and each reference, the simple slow method (engine/record/clean_call.h), and
 * nothing else.
 */
#include "engine/record/instrumentor.h"

const struct instrumentor tw_instrument_call = {
    .name = "call",
    .format = TW_FORMAT_CALL,
    .records = true,
    .logs = true,
};
