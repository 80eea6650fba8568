/*
 * Counters of the engine's own work, over all processes of a recording: tw_recording_info.engine, indexed by enum
 * tw_count.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TRACKWAY_COUNTS_H
#define TRACKWAY_COUNTS_H

enum tw_count {
	/* what was made */
	TW_COUNT_FRAGMENTS,   /* translations of blocks and of paths... */
	TW_COUNT_SUPERBLOCKS, /* ...of these, superblocks (of hot paths and loops) */
	TW_COUNT_INSNS,       /* the program's instructions in them... */
	TW_COUNT_CODE_BYTES,  /* ...and bytes */
	TW_COUNT_LOOKUPS,     /* pieces of code that check the target of an indirect branch */
	TW_COUNT_BRIDGES,     /* pieces of code that write a new upper half of fragment numbers */
	TW_COUNT_CACHE_BYTES, /* of all of these, in the code cache */
	TW_COUNT_LINKS,       /* direct branches linked to a fragment */
	TW_COUNT_STALE,       /* fragments whose code changed or was unmapped */
	TW_COUNT_EMPTIED,     /* how often a process discarded all translations because an area was full */
	/* reasons for leaving the code cache */
	TW_COUNT_SYSCALLS,
	TW_COUNT_EMULATED,  /* an instruction that the engine emulates */
	TW_COUNT_UNLINKED,  /* a direct branch that was not linked yet */
	TW_COUNT_NOT_FOUND, /* an indirect branch whose target had no lookup */
	TW_COUNT_RESUMED,   /* signals and the like */
	/* sharing of translations */
	TW_COUNT_TAKEN,        /* processes that started or continued with translations of others... */
	TW_COUNT_TAKEN_PIECES, /* ...pieces of code in them... */
	TW_COUNT_LEFT,         /* ...and processes that left theirs... */
	TW_COUNT_LEFT_BYTES,   /* ...bytes */
	TW_COUNT_BUFFERS,      /* buffers filled */
	TW_COUNT_WAITS,        /* waits for the collector to return a buffer */
	/* cycles of the time stamp counter */
	TW_COUNT_FINDING_CYCLES, /* finding, making and linking fragments */
	TW_COUNT_JOINING_CYCLES, /* making superblocks, and finding their paths in what was recorded */
	TW_COUNT_HANDING_CYCLES, /* taking and leaving translations */
	TW_COUNT_WAITING_CYCLES, /* waiting for the collector */
	/* maxima over processes of the engine's own memory: from here on no sums */
	TW_COUNT_MOST_PIECES, /* pieces of code: fragments, lookups, bridges */
	TW_COUNT_MOST_CACHE,  /* bytes of the areas: code cache, in pieces of 256 KB... */
	TW_COUNT_MOST_STUBS,  /* ...stubs that leave it... */
	TW_COUNT_MOST_HEAP,   /* ...and data about all of this */
	TW_COUNTS
};

#endif
