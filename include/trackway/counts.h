/*
 * What the engine counts of its own work, over all processes of a recording: tw_recording_info.engine, by enum tw_count.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TRACKWAY_COUNTS_H
#define TRACKWAY_COUNTS_H

enum tw_count {
	/* what was made */
	TW_COUNT_FRAGMENTS,   /* translations of blocks and of paths... */
	TW_COUNT_SUPERBLOCKS, /* ...of these, of paths and loops that proved hot */
	TW_COUNT_INSNS,       /* instructions of the program's in them... */
	TW_COUNT_CODE_BYTES,  /* ...and bytes */
	TW_COUNT_LOOKUPS,     /* pieces that compare the target of an indirect branch, and go on where it is theirs */
	TW_COUNT_BRIDGES,     /* pieces that tell another upper half of fragment numbers on the way */
	TW_COUNT_CACHE_BYTES, /* of all of these, in the code cache */
	TW_COUNT_LINKS,       /* direct branches that were led to a fragment */
	TW_COUNT_STALE,       /* fragments that went, since their code had changed or gone */
	TW_COUNT_EMPTIED,     /* how often a process threw all away, for an area was full */
	/* why the code cache was left */
	TW_COUNT_SYSCALLS,
	TW_COUNT_EMULATED,  /* for an instruction that the engine does itself */
	TW_COUNT_UNLINKED,  /* for a direct branch that led nowhere yet */
	TW_COUNT_NOT_FOUND, /* for the target of an indirect branch that no lookup had */
	TW_COUNT_RESUMED,   /* for a signal and the like */
	/* what was handed on */
	TW_COUNT_TAKEN,        /* processes that began with, or went on with translations of others... */
	TW_COUNT_TAKEN_PIECES, /* ...pieces of code in them... */
	TW_COUNT_LEFT,         /* ...and processes that left theirs... */
	TW_COUNT_LEFT_BYTES,   /* ...so much */
	TW_COUNT_BUFFERS,      /* that were filled */
	TW_COUNT_WAITS,        /* for the collector to give one back */
	/* cycles of the time stamp counter */
	TW_COUNT_FINDING_CYCLES, /* finding, making and linking fragments */
	TW_COUNT_JOINING_CYCLES, /* superblocks, and looking for their paths in what was recorded */
	TW_COUNT_HANDING_CYCLES, /* taking and leaving translations */
	TW_COUNT_WAITING_CYCLES, /* for the collector */
	/* the most that one process had of the engine's own memory: from here on no sums */
	TW_COUNT_MOST_PIECES, /* pieces of code: fragments, lookups, bridges */
	TW_COUNT_MOST_CACHE,  /* bytes of the areas: code cache, in pieces of 256 KB... */
	TW_COUNT_MOST_STUBS,  /* ...what leads out of it... */
	TW_COUNT_MOST_HEAP,   /* ...and what is known of it all */
	TW_COUNTS
};

#endif
