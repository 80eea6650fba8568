/*
 * Owners: the functions to which code belongs, by number.
 *
 * A function is identified by its file and its start in that file, so it has one number in all processes. Code
 * without symbols is divided by unwind information; without that, by where calls lead. Its functions are named by
 * file and address, "gzip+0x3f40". Code in no file belongs to an object named after its mapping.
 */
#ifndef TW_OWNERS_H
#define TW_OWNERS_H

#include "names/texts.h"
#include "names/names.h"

struct tw_owner {
	char *name;
	uint32_t object; /* number of the file, in `objects` */
	uint32_t image;  /* where it begins, as mapped in one image */
	uint64_t pc;
};

struct tw_owners {
	struct tw_names *names;  /* the caller's */
	struct tw_texts objects; /* paths */
	struct tw_owner *items;
	uint32_t n;
	/* private */
	size_t room;
	struct tw_texts keys;
	struct tw_owner_start *starts; /* of functions without symbols, sorted */
	size_t n_starts, starts_room;
	int outdated; /* 1: a start was found in code whose owner had been asked for */
};

struct tw_owned {
	uint32_t owner; /* its number */
	int entry;      /* it begins here */
	int plt;        /* enum tw_plt */
};

/*
 * Functions without symbols and unwind information begin where a direct call of the recording leads. 0 or
 * TW_ERR_MEMORY; tw_owners_free in any case.
 */
int tw_owners_init(struct tw_owners *o, struct tw_names *names, const struct tw_recording *r);
void tw_owners_free(struct tw_owners *o);

/*
 * The owner of the code at pc of an image. `called`: a call has led there, so without a symbol a function begins
 * there. 0 or TW_ERR_MEMORY.
 */
int tw_owners_find(struct tw_owners *o, uint32_t image, uint64_t pc, int called, struct tw_owned *out);

/*
 * Whether an owner that was returned would be another one now, because later calls led into its code. If so, all
 * owners are forgotten, except where calls led: asking again gives the right ones.
 */
int tw_owners_again(struct tw_owners *o);

#endif
