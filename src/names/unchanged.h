/*
 * Whether the files of a recording still hold the code that ran: names and lines are those of the files as they are now, and a program that has been
 * built anew would be given those of other functions.
 */
#ifndef TW_UNCHANGED_H
#define TW_UNCHANGED_H

#include <stddef.h>
#include <trackway/recording.h>

/* One file, and what was found where it was mapped: fragments whose code stands there in the file, and others. */
struct tw_code_check {
	const uint8_t *file; /* its bytes, mapped; NULL: it cannot be read, or is not ELF */
	size_t bytes;
	uint64_t same, other;
	uint64_t seen; /* fragments where it was mapped; not all of many are compared */
};

/* `check` is all zeros; tw_code_check_end in any case. */
void tw_code_check_begin(struct tw_code_check *check, const char *path);
void tw_code_check_end(struct tw_code_check *check);

/* Compares fragments with files, all of them or, of a large recording, a part. `file_of`: the file of each module. To `check` of each file it is added. */
void tw_check_code(const struct tw_recording *r, const uint32_t *file_of, struct tw_code_check *check);

/* Whether a file is another one now: more than one fragment in 50 is not in it. Of a program that was built anew, much may still stand where it did; and
 * a program that patches its code has a few that are not in its file. */
static inline int tw_code_changed(const struct tw_code_check *check)
{
	return check->other * 50 > check->same;
}

#endif
