/*
 * The shadow call stack of one thread, and the table of calls that all threads fill. calls.h has the rules.
 *
 * The user reports, in execution order: where control arrived (tw_callstack_enter) whenever the function may have
 * changed, each completed return, each signal. If the first function of a thread returns, because recording started
 * within it, its caller becomes the first function. `cost` is what the thread has cost so far; the user adds to it.
 */
#ifndef TW_CALLSTACK_H
#define TW_CALLSTACK_H

#include "analyze/call.h"

#include <stddef.h>

enum tw_arrival_cause {
	TW_ARRIVAL_JUMP, /* direct, or falling through */
	TW_ARRIVAL_WILD, /* indirect jump: may lead into the middle of an active function */
	TW_ARRIVAL_CALL,
	TW_ARRIVAL_RETURN, /* a return of a recording without references: matched by its address */
	TW_ARRIVAL_BACK,   /* any other return: tw_callstack_return has been told */
};

/* How control reaches the next block. The stack keeps it only while a signal handler runs. */
struct tw_arrival {
	uint8_t cause; /* enum tw_arrival_cause */
	uint8_t level; /* of the context it came from */
	uint64_t slot; /* CALL: where the return address was put, UINT64_MAX: not known */
	uint64_t back; /* CALL: the return address */
	void *from;    /* the user's own: the last block executed, NULL: none */
};

/* The instruction that called or jumped. */
struct tw_call_site {
	struct tw_context in;
	uint32_t image;
	uint64_t pc;
	uint32_t *guess; /* the user's memory: the number of the last call made from here, or anything; NULL: none */
};

/* In place of a function: none. As callee: what is charged to the calling instruction itself. */
#define TW_CALL_NOWHERE UINT32_MAX

/* Calls by their two ends. Numbers of calls stay the same while it grows. */
struct tw_call_table {
	struct tw_call *items;
	uint32_t *slots; /* open hash of their numbers + 1 */
	uint32_t n, room, n_slots;
};

void tw_call_table_free(struct tw_call_table *t);

struct tw_frame {
	struct tw_cost cost; /* of the thread when it was entered */
	/*
	 * Address of its return address (if entered by a jump: that of its caller); UINT64_MAX at the bottom. If not known:
	 * a number below that of the previous frame.
	 */
	uint64_t slot;
	uint64_t back; /* its return address; that of its caller for a jump */
	struct tw_context context;
	uint8_t kind;    /* enum tw_call_kind */
	uint8_t lazy;    /* a stub from which a resolver is entered */
	uint8_t bottom;  /* 1: the first of a thread or of a signal handler */
	uint8_t handler; /* 1: of a signal handler */
	uint8_t counts;  /* 1: its cost counts: its context was not active before */
	uint32_t call;   /* its number in the table, TW_CALL_NOWHERE: nobody called */
	struct tw_call_site site;
	struct tw_arrival interrupted; /* handler: how the block after it would have been reached */
};

struct tw_callstack {
	struct tw_cost cost;
	struct tw_call_table *table;
	struct tw_frame *frames; /* never empty between tw_callstack_begin and tw_callstack_finish */
	size_t n, room;
	uint32_t (*active)[2]; /* for each function the frames above the last handler's bottom, by level */
	size_t n_active;
	int in_parts; /* set by the user: 1: not all code is recorded; unrecorded code may call recorded code, with unknown frames */
};

void tw_callstack_init(struct tw_callstack *s, struct tw_call_table *table);
void tw_callstack_free(struct tw_callstack *s);

/* A thread starts: with a stack of its own (`parent` NULL), or where the thread that forked it was. 0 or TW_ERR_MEMORY. */
int tw_callstack_begin(struct tw_callstack *s, const struct tw_callstack *parent);

/* It ends: takes all frames off. */
void tw_callstack_finish(struct tw_callstack *s);

/* Control arrives at `place`, at pc of an image. The top frame is then that of its function. 0 or TW_ERR_MEMORY. */
int tw_callstack_enter(struct tw_callstack *s, const struct tw_call_place *place, uint32_t image, uint64_t pc,
                       const struct tw_arrival *arrival, const struct tw_call_site *site);

/*
 * A return took its address from `slot`. If unrecorded code called the function, its frame has the slot of that
 * code's caller: then the top one returns.
 */
void tw_callstack_return(struct tw_callstack *s, uint64_t slot);

/* A handler is about to run. It has returned: *interrupted is what was passed then (unchanged if no handler runs). */
int tw_callstack_signal(struct tw_callstack *s, const struct tw_arrival *interrupted);
void tw_callstack_sigreturn(struct tw_callstack *s, struct tw_arrival *interrupted);

/* The top frame is a called stub: charges the cost since `since` to the calling instruction. */
void tw_callstack_charge(struct tw_callstack *s, const struct tw_cost *since);

static inline const struct tw_frame *tw_callstack_top(const struct tw_callstack *s)
{
	return &s->frames[s->n - 1];
}

/* Whether the function of the top frame is known: not before the first block of a thread or signal handler. */
static inline int tw_callstack_is_settled(const struct tw_callstack *s)
{
	return tw_callstack_top(s)->context.function != TW_CALL_NOWHERE;
}

#endif
