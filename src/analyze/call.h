/* What of calls the shadow stack (callstack.h) and what is made of it (calls.h) share. */
#ifndef TW_CALL_H
#define TW_CALL_H

#include <stdint.h>

/* What is counted. */
struct tw_cost {
	uint64_t insns, refs, reads, writes; /* a modify is one reference, a read and a write */
	uint64_t conditional;                /* conditional branches executed */
	uint64_t indirect;                   /* indirect jumps and calls executed; returns are not among them */
};

enum tw_call_kind {
	TW_CALL_FUNCTION,
	TW_CALL_STUB,     /* an entry of a PLT: leads to a function, is none */
	TW_CALL_RESOLVER, /* what the common entry of a PLT jumps to, the first time a function is called */
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
	struct tw_context in;
	uint32_t image;
	uint64_t pc; /* of the instruction that called */
	struct tw_context to;
	uint32_t to_image;
	uint64_t to_pc; /* where the callee was entered first */
	uint64_t calls;
	struct tw_cost cost;
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
