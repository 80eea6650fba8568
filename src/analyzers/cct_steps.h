/*
 * Memoization for calling contexts: what happens when the program repeats what it has done before. A *step* is a
 * permanent stretch, run in a node; it knows which step came next, and the calls and returns in it. So most stretches
 * cost one look at what is next, one at the stack for each call and return, and one count. Only usual cases are
 * followed in this way: a call from below all open ones, a return to the innermost. Everything else is left to the
 * caller, with nothing of it done.
 */
#ifndef TW_CCT_STEPS_H
#define TW_CCT_STEPS_H

#include "analyzers/cct_stack.h"
#include "analyzers/segments.h"

/* Which of a stretch's references is the last one of the block that ended: its number, or that there is none, or that it is the one from before the stretch. */
enum { TW_CCT_REF_NONE = 0xffff, TW_CCT_REF_BEFORE = 0xfffe, TW_CCT_REFS_MOST = 0xfff0 };

/* A call or return within a stretch. */
struct tw_cct_turn {
	uint32_t node;    /* that it led to */
	uint16_t segment; /* that it led to, from the stretch's first on */
	uint16_t ref;     /* where its return address is */
	uint64_t back;    /* a call's return address; 0: it is a return */
	uint64_t pc;      /* where it led */
};

/* How a stretch starts: by a call; with more references of the previous block; or neither. */
enum tw_cct_beginning { TW_CCT_BEGINS, TW_CCT_CALLED, TW_CCT_GOES_ON };

/* A stretch has no more blocks that end. */
enum { TW_CCT_TURNS_MOST = 63 };

struct tw_cct_step {
	const struct tw_stretch *next[2]; /* that came next, the last one first; NULL: none */
	uint32_t to[2];                   /* the steps of these */
	uint64_t runs;                    /* that are not among the counts yet */
	uint64_t back;                    /* behind the block that ends it */
	uint32_t node;                    /* in which its first segment runs */
	uint32_t stretch;                 /* its number */
	uint32_t segment;                 /* that ends it */
	uint32_t turns;                   /* where those within it begin */
	uint16_t n_refs, last_ref;
	uint8_t n_turns;
	uint8_t end;          /* enum tw_end of the block that ends it */
	uint8_t ends_turned;  /* by a call or return */
	uint8_t begins : 2;   /* enum tw_cct_beginning */
	uint8_t has_more : 1; /* other steps followed, too: all of them are among the links */
};

/* A step that is looked for. before: GOES_ON: the segment that goes on; else TW_SEGMENT_NONE, or if it is CALLED TW_SEGMENT_SLOW. */
struct tw_cct_step_place {
	uint32_t node, stretch, before;
	uint32_t step; /* + 1; 0: nothing is here */
};

struct tw_cct_link {
	const struct tw_stretch *next;
	uint32_t from, to; /* to: + 1; 0: nothing is here */
};

/* All zeros is empty. */
struct tw_cct_steps {
	struct tw_cct_step *items;
	struct tw_cct_turn *turns;
	struct tw_cct_step_place *places; /* open hashes */
	struct tw_cct_link *links;
	size_t n, room, n_turns, turns_room;
	uint32_t places_room, n_links, links_room;
};

enum { TW_CCT_STEP_NONE = UINT32_MAX };

/* Where steps are followed to. */
struct tw_cct_at {
	uint32_t step;        /* the last one */
	uint64_t last_ref;    /* address of the last reference of the block that ended; 0: none */
	const uint64_t *addr; /* of the next stretch's first reference */
};

/* Follows up to n stretches from at->step on, which must exist. Returns how many. */
size_t tw_cct_steps_follow(struct tw_cct_steps *s, struct tw_cct_stack *stack, const struct tw_stretch *const *stretches, size_t n,
                           struct tw_cct_at *at);

/*
 * The step with these properties, made if needed; before: the segment that it continues. TW_CCT_STEP_NONE: no memory,
 * or its contents led elsewhere before.
 */
uint32_t tw_cct_steps_add(struct tw_cct_steps *s, const struct tw_cct_step *step, const struct tw_cct_turn *turns, uint32_t before);

/* One step followed another, and everything between them was usual. 0 or TW_ERR_MEMORY. */
int tw_cct_steps_link(struct tw_cct_steps *s, uint32_t from, const struct tw_stretch *stretch, uint32_t to);

/* Moves what was counted to the counts of segments and the tree, and forgets all steps. 0 or TW_ERR_MEMORY. */
int tw_cct_steps_settle(struct tw_cct_steps *s, struct tw_segments *segments, struct tw_contexts *c);

/* The same, but the half of them that ran most is kept, or fewer; they are renumbered. */
int tw_cct_steps_thin(struct tw_cct_steps *s, struct tw_segments *segments, struct tw_contexts *c);

void tw_cct_steps_free(struct tw_cct_steps *s);

#endif
