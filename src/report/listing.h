/*
 * Listings: the functions that ran, and for each its instructions with what they did.
 *
 * It is the block profile (analyze/profile.h) by function. A function in the memory of several programs is one; its
 * listing is from the one where it executed most.
 */
#ifndef TW_LISTING_H
#define TW_LISTING_H

#include "analyze/hot.h"
#include "analyze/profile.h"
#include "report/owners.h"
#include "report/source.h"

/* What ran of a function in one image: profile.insns[order[first].insn]..., n of them, by address. */
struct tw_listing_function {
	uint32_t owner; /* in `owners` */
	const char *name, *module;
	const char *file; /* where it begins; NULL: not known */
	uint32_t line;
	uint64_t insns, reads, writes; /* executed, of all images */
	uint64_t most;                 /* of the image where it executed most: */
	uint32_t image;
	size_t first, n;
	uint8_t stub;     /* of a PLT */
	uint8_t namesake; /* another function of the same file has the same name */
};

struct tw_listing_place {
	uint32_t owner, image, insn;
};

/* Where the bytes of code are. */
struct tw_listing_code {
	uint64_t pc;
	uint32_t pid, block;
	const struct tw_descriptor *descriptor;
};

struct tw_listing {
	const struct tw_recording *recording;
	struct tw_names *names;
	struct tw_profile profile;
	struct tw_owners owners;
	struct tw_sources sources;
	struct tw_listing_place *order;        /* of all instructions: by owner, image, address */
	struct tw_listing_function *functions; /* those that executed most first */
	size_t n_functions;
	struct tw_listing_code *codes; /* by pc */
	size_t n_codes, codes_room;
};

/*
 * Replays the recording according to `replay`, with `run` instead of tw_replay unless NULL. tw_listing_free in any
 * case. 0 or an error.
 */
int tw_listing_init(struct tw_listing *l, const struct tw_recording *r, struct tw_names *names, const struct tw_replay_options *replay,
                    tw_hot_replay *run, void *run_context);
void tw_listing_free(struct tw_listing *l);

/* Removes PLT stubs from the functions: if calls are known, stubs' costs are charged to their callers. */
void tw_listing_drop_stubs(struct tw_listing *l);

/* Disassembles an instruction of the profile: its own process's code, or else another's at the same address. "(no code)": none. */
void tw_listing_disassemble(const struct tw_listing *l, const struct tw_profile_insn *p, char *text, size_t size);

#endif
