/* Shared by the shadow stack (callstack.h), the code that follows calls, and their results (calls.h). */
#ifndef TW_CALL_H
#define TW_CALL_H

#include <stdint.h>
#include <trackway/replay.h>

/*
 * Counters. They are stored and loaded 16 bytes at a time: if these cross a cache line, a load right after the store
 * stalls, and following calls takes 1.6 times as long.
 */
struct tw_cost {
	_Alignas(16) uint64_t insns;  /* instructions */
	uint64_t refs, reads, writes; /* a modify is one reference, a read and a write */
	uint64_t conditional;         /* conditional branches executed */
	uint64_t indirect;            /* indirect jumps and calls executed; returns are not among them */
};

enum tw_call_kind {
	TW_CALL_FUNCTION,
	TW_CALL_STUB,     /* an entry of a PLT: leads to a function, is none */
	TW_CALL_RESOLVER, /* target of a PLT's common entry the first time a function is called */
};

/* The function a piece of code belongs to. */
struct tw_call_place {
	uint32_t function; /* its number, small: arrays are indexed by it */
	uint8_t kind;      /* TW_CALL_FUNCTION or TW_CALL_STUB */
	uint8_t lazy;      /* the common entry of a PLT, from which a resolver is entered */
	uint8_t entry;     /* this is the first instruction of the function */
};

/* A function while it was not active already (level 0), or while it was (1). */
struct tw_context {
	uint32_t function, level;
};

/* Calls from one place to one context. Sorted by caller as above, then by callee. */
struct tw_call {
	struct tw_cost cost;
	uint64_t calls;
	uint64_t pc; /* of the instruction that called, */
	uint32_t image;
	struct tw_context in, to;
	uint32_t to_image;
	uint64_t to_pc; /* where the callee was entered first */
};

/* Self cost of an instruction in one context. Sorted by function, level, image, address. */
struct tw_call_insn {
	struct tw_context in;
	uint32_t image;
	uint8_t end; /* enum tw_end, if it ends a block; else TW_END_FALL */
	uint64_t pc;
	struct tw_cost cost;
	uint64_t ran;    /* how often it was executed */
	uint64_t target; /* JUMP, COND: where to */
	uint64_t taken;  /* JUMP, COND: how often it went there */
};

struct tw_calls_options {
	struct tw_replay_options replay; /* `grain` is ignored; calls are followed in order, by one worker at a time */
	/*
	 * The function of the code at pc of an image (see profile.h); `called`: a call has led there. *place is all zeros
	 * before. 0, or an error that ends the replay.
	 */
	int (*place)(void *context, uint32_t image, uint64_t pc, int called, struct tw_call_place *place);
	/*
	 * After the replay: not 0 if place() would answer differently now because of later calls. Then everything is
	 * replayed once more, with functions renumbered; what place() learned from calls is kept.
	 */
	int (*again)(void *context);
	void *context; /* for both */
	/* Used instead of tw_replay, to let the analyzer see only a part of the execution; NULL: tw_replay. */
	int (*run)(void *run_context, const struct tw_recording *r, const struct tw_replay_options *replay,
	           const struct tw_analyzer *analyzer, void *arg);
	void *run_context;
};

struct tw_calls {
	struct tw_cost totals;
	struct tw_call_insn *insns;
	struct tw_call *calls;
	size_t n_insns, n_calls;
};

static inline void tw_cost_add(struct tw_cost *to, const struct tw_cost *more)
{
	to->insns += more->insns;
	to->refs += more->refs;
	to->reads += more->reads;
	to->writes += more->writes;
	to->conditional += more->conditional;
	to->indirect += more->indirect;
}

#endif
