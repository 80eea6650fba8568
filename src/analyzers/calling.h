/*
 * Open calls: what analyzers of memory, locks and threads derive from CALL and RETURN events.
 *
 * A thread's open calls are a stack. A RETURN ends the call that returns to its place from the same stack pointer,
 * and the calls above it, which longjmp or an exception left. A CALL ends those whose frames were at or below its
 * own, except those of which it is a tail call: they return when it does. A CALL that occurs twice opens once; a
 * RETURN that occurs twice ends once.
 *
 * The kind of a function says what it does (<trackway/called.h>). Functions that the user named when recording have
 * the kind that the analyzer's options give them.
 */
#ifndef TW_CALLING_H
#define TW_CALLING_H

#include <trackway/called.h>
#include <trackway/context.h>

/* ---- what functions do ---- */

struct tw_calling_kinds {
	uint8_t *kind; /* enum tw_called_kind, by number of the function */
	size_t n;
};

/* An option whose value is a comma-separated list of function names, and what those functions do. */
struct tw_calling_option {
	const char *option;
	uint8_t kind;
};

/* The last of `options` has no name. 0, TW_ERR_MEMORY, or 1: a name was not recorded, which has been reported. */
int tw_calling_kinds_init(struct tw_calling_kinds *k, const struct tw_context *c, const struct tw_calling_option *options);
void tw_calling_kinds_free(struct tw_calling_kinds *k);

/* Is it a kind that allocates or frees memory; and one in which only the library's own code runs, and none of the program's? */
int tw_called_is_memory(uint8_t kind);
int tw_called_is_closed(uint8_t kind);

/* ---- the calls of a thread ---- */

struct tw_open_call {
	uint64_t args[8];
	uint64_t sp, back, tsc;
	uint32_t function, n_list; /* n_list: words of the list that it was given */
	size_t list;               /* where they begin */
	uint8_t kind;
};

struct tw_calling {
	struct tw_open_call *open; /* the innermost is the last */
	size_t n, room;
	uint64_t *lists; /* that they were given, one behind the other */
	size_t lists_room;
	size_t in_memory; /* of them, those of kinds that allocate or free */
	size_t in_closed; /* ... in which only the library's code runs */
};

enum tw_calling_change { TW_CALLING_NOTHING, TW_CALLING_ENTERED, TW_CALLING_LEFT };

/* What an event changed. */
struct tw_calling_step {
	enum tw_calling_change change;
	struct tw_open_call call; /* that was entered or left */
	uint64_t tsc;             /* when */
	const uint64_t *list;     /* the call.n_list words that it was given: valid until the next event is taken */
	uint64_t result, stored;  /* LEFT: as struct tw_returned has them */
	int more;                 /* LEFT: the same event also ends the call around it, of which this one was a tail call: take it again */
	size_t within;            /* open calls around it in which only the library's code runs */
};

/* What a call that has returned asked of the allocator. */
struct tw_asked {
	uint64_t bytes;
	uint64_t addr, old; /* the block that it returned, and the one that it took (realloc); 0: none */
	int allocates;      /* 0: it is a call of another kind */
};

struct tw_asked tw_asked_by(const struct tw_calling_step *step);

/* The name of the function, as the symbol tables have it; "" of one that the user named. */
const char *tw_calling_name(const struct tw_open_call *c);

/* Any event of the thread. 0 or TW_ERR_MEMORY. */
int tw_calling_take(struct tw_calling *c, const struct tw_calling_kinds *k, const struct tw_event *e, struct tw_calling_step *step);
void tw_calling_free(struct tw_calling *c);

#endif
