/*
 * Upward calls: what each room of the engine calls in those above it. They are all here. (The order of the rooms is
 * in docs/internals.md.)
 */
#include "engine/code/dispatch.h"
#include "engine/code/flush.h"
#include "engine/code/inserted.h"
#include "engine/code/private.h"
#include "engine/code/trace.h"
#include "engine/kernel/emulate.h"
#include "engine/kernel/int80.h"
#include "engine/kernel/leave.h"
#include "engine/kernel/syscall.h"
#include "engine/record/calls.h"
#include "engine/record/clean_call.h"
#include "engine/record/stamp.h"
#include "engine/signal/signal.h"
#include "engine/x86_64/room.h"

const struct tw_x86_64_calls tw_x86_64_calls = {
    .left = tw_dispatch,
    .resume = tw_resume,
    .call_made = tw_call_made,
    .stopped = tw_signal_reentered,
    .stops_at = tw_calls_stops_at,
    .stands_alone = tw_stamp_wanted,
    .behind_inserted = tw_inserted_behind,
};

const struct tw_record_calls tw_record_calls = {
    .buffer_done = tw_trace_look,
    .use = tw_flush_switch,
    .cross = tw_private_end,
};

const struct tw_code_calls tw_code_calls = {
    .deliver_deferred = tw_leave_or_deliver,
    .no_code = tw_signal_no_code,
    .syscall = tw_syscall,
    .int80 = tw_int80,
    .emulate = tw_emulate,
    .emulate_vsyscall = tw_emulate_vsyscall,
};
