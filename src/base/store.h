/*
 * The store of snapshots (engine/code/snapshot.h): translations that processes of a recording leave to others that
 * run the same program. It follows everything else in the channel's memfd, sparse, and is not mapped as a whole: a
 * process reads and maps what it needs. The collector creates it, and at the end keeps its contents for the next
 * recording, in files (channel/keep.h).
 *
 * What must hold: what an entry's `offset` refers to is complete and is never changed or released, since others may
 * have it mapped. So the store only grows, up to its limit.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TW_STORE_H
#define TW_STORE_H

#include <stdatomic.h>
#include <stdint.h>

#define TW_STORE_BYTES   (1ull << 30)
#define TW_KEEP_BYTES    (1ull << 30) /* default maximum kept for other recordings */
#define TW_STORE_ENTRIES 1024u
#define TW_STORE_KEPT    UINT64_MAX /* an offset: the best snapshot is the file that was kept */
#define TW_KEEP_PATH     512u       /* bytes of the directory's path, NUL included */
#define TW_KEPT_PROGRAM  128u
#define TW_KEEP_SUFFIX   ".snapshot"
#define TW_SEAL_SUFFIX   ".seal"

/*
 * Identifies a file in a state: equal identities mean the same bytes, unless a file changed twice within the time
 * resolution of its file system.
 */
struct tw_file {
	uint64_t device, inode, size;
	uint64_t modified_s, modified_ns, changed_s, changed_ns;
};

/* The machine, and since when it has been running: snapshots of another one are useless, since translations depend on the processor. */
struct tw_machine_id {
	uint8_t boot[16];   /* of the kernel; all zeros: not known, and nothing is kept */
	uint64_t processor; /* hash of what CPUID says of it */
};

/*
 * If something is recorded a fragment's number is in its code. So fragments of a snapshot have numbers that no other
 * program has, in this recording nor, most likely, in others: those of upper halves from TW_FIRST_CLAIMED on, each of
 * which one program claims for itself. The one that it tries first depends on the program's identity. A kept file is
 * useless if another program has claimed one of its upper halves.
 */
#define TW_FIRST_CLAIMED 0x4000u
#define TW_UPPER_HALVES  0x10000u
#define TW_MOST_CLAIMED  16u /* by one program */

/* What a snapshot begins with, in the store and in a file. */
struct tw_snapshot_lead {
	uint64_t magic;
	uint64_t bytes; /* of all of it, without descriptors */
	struct tw_machine_id machine;
	uint64_t id;          /* a new one for each snapshot ever made of this program */
	uint64_t descriptors; /* in a file: bytes after it, a descriptor table as in the channel */
	uint32_t base;        /* in the store, if something is recorded: the table with its descriptors */
	/* In a file: upper halves claimed by its program, and the next number to be drawn from the last one. */
	uint32_t n_claimed, number;
	uint32_t format, verify, fragments; /* kind of recording, and contents */
	uint32_t learns;                    /* bare code told what is learned */
	uint16_t claimed[TW_MOST_CLAIMED];
	char program[TW_KEPT_PROGRAM]; /* for people: the end of its path, NUL included */
};
#define TW_SNAPSHOT_MAGIC 0x336f687370616e76ull

/*
 * Next to each kept file, under the same key: which file it is, written when it got its name. A file in another state
 * has been written to since, or is a copy.
 */
struct tw_seal {
	uint64_t magic;
	struct tw_file file;
	uint64_t lacked; /* as an entry's */
};
#define TW_SEAL_MAGIC 0x326c6165736b7774ull

enum tw_kept_state { TW_KEPT_UNKNOWN, TW_KEPT_LOADING, TW_KEPT_LOADED, TW_KEPT_NONE };

/* The best snapshot there is of one program. */
struct tw_store_entry {
	_Atomic uint64_t key;       /* hash of what it is of; 0: free */
	_Atomic uint64_t offset;    /* in the store, plus 1; 0: none yet; TW_STORE_KEPT */
	_Atomic uint32_t writer;    /* process that is writing one, or 0 */
	_Atomic uint32_t written;   /* how many have been */
	_Atomic uint32_t fragments; /* in it */
	_Atomic uint32_t lacked;    /* what processes that started with it had to make for want of a better one, in fragments */
	_Atomic uint32_t kept;      /* where something is recorded: enum tw_kept_state, of the file... */
	uint32_t kept_base;         /* ...whose descriptors are in this table... */
	uint32_t loader;            /* ...as this process loads them */
	uint64_t kept_id;           /* ...and which snapshot it is */
	uint32_t n_claimed,
	    number; /* upper halves; the next fragment number, 0: the next upper half must be claimed. Under the descriptor lock */
	uint16_t claimed[TW_MOST_CLAIMED];
};

struct tw_store {
	uint64_t limit; /* bytes that may be used; 0: there are no snapshots */
	_Atomic uint64_t used;
	_Atomic uint32_t taken; /* programs that began with a snapshot */
	_Atomic uint32_t forks; /* processes that went on with one */
	struct tw_machine_id machine;
	uint64_t keep_limit; /* bytes that may be kept in the directory */
	/* If bare code tells what is learned: the state of the learn file when the recording started (learn/file.h); otherwise 0. */
	uint64_t learned;
	char keep[TW_KEEP_PATH]; /* directory for kept files; an absolute path, or "" */
	_Atomic uint32_t n_occupied;
	/* The entries that are not free, in order of use, so that searches need not touch the others. */
	uint16_t occupied[TW_STORE_ENTRIES];
	struct tw_store_entry entry[TW_STORE_ENTRIES];
	_Atomic uint16_t claims[TW_UPPER_HALVES]; /* of each upper half: the entry that has claimed it, plus 1 */
};

/*
 * The number under which an entry's file is kept. If bare code tells what is learned, everything in a snapshot has
 * been told and is in the learn file, in this state of it: it is useful with that file, and with none that may lack
 * something.
 */
static inline uint64_t tw_store_file_number(uint64_t key, uint64_t learned)
{
	const uint64_t h = (key ^ learned) * 0x9e3779b97f4a7c15ull;
	return learned ? h ^ h >> 29 : key;
}

#endif
