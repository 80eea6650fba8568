/*
 * The story of a recording: what happened when, from one replay of all chunks on all processors. It has times of
 * threads and system calls, signals, and memory over time (heat.h).
 *
 * A thread's life is divided into stretches of equal numbers of instructions. The time of a stretch follows from the
 * instruction counts and times of its marks: events that have a time.
 */
#ifndef TW_STORY_H
#define TW_STORY_H

#include "html/heat.h"

#include <trackway/replay.h>

enum {
	TW_STORY_STRETCHES = 240, /* of a thread, at most */
	TW_STORY_CALLS = 8000,    /* system calls that are kept one by one: the longest */
	TW_STORY_EVENTS = 2000    /* of other events: the first */
};

struct tw_story_call {
	uint64_t began, ended; /* time stamps */
	uint32_t thread;
	uint32_t number;
	int64_t result;
	char *text; /* with arguments and result */
};

/* All system calls of one number in one thread. */
struct tw_story_sum {
	uint32_t thread, number;
	uint64_t calls, cycles;
};

enum tw_story_kind { TW_STORY_SIGNAL, TW_STORY_FAULT, TW_STORY_GAP, TW_STORY_PROGRAM, TW_STORY_FORK };
struct tw_story_event {
	uint64_t insn; /* of its thread */
	uint32_t thread, kind;
	char *text;
};

/* A thread's heap from brk(): from the first end of the heap to the last. */
struct tw_story_heap {
	uint64_t low, high;
	uint32_t thread;
};

/* Stacks: 64-KiB pages into which the stack pointer pointed when it was sampled. */
enum { TW_STORY_STACKS = 512 };

/* The time at an instruction of a thread. */
struct tw_story_mark {
	uint64_t insn, tsc;
	uint32_t thread;
};

struct tw_story {
	const struct tw_recording *recording;
	struct tw_heat heat;
	struct tw_story_call *calls;
	struct tw_story_sum *sums;
	struct tw_story_event *events;
	struct tw_story_mark *marks; /* by thread, then instruction */
	struct tw_story_heap *heaps;
	size_t n_calls, n_sums, n_events, n_marks, n_heaps;
	size_t calls_room, sums_room, events_room, marks_room, heaps_room;
	uint64_t first, last;           /* time of the first and the last mark; both 0: none */
	uint64_t all_calls, all_events; /* how many there were */
	uint64_t stacks[TW_STORY_STACKS];
	size_t n_stacks;
	struct tw_story **out; /* private: where it goes when it is whole */
};

/* The analyzer, and the argument of its begin(); `out` as below. */
struct tw_story_request {
	const struct tw_recording *recording;
	struct tw_story **out;
};
extern const struct tw_analyzer tw_story_analyzer;

/* Replays `r`. tw_story_free(*out) in any case. 0 or an error. */
int tw_story_run(const struct tw_recording *r, const struct tw_replay_options *options, struct tw_story **out);
void tw_story_free(struct tw_story *s);

/* The number of stretches of a thread, and the time when one begins; 0: unknown. */
uint32_t tw_story_stretches(const struct tw_recording *r, uint32_t thread);
uint64_t tw_story_time(const struct tw_story *s, uint32_t thread, uint64_t insn);

/* Whether a stack pointer was seen in [start, end). */
int tw_story_is_stack(const struct tw_story *s, uint64_t start, uint64_t end);

#endif
