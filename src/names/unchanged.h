/*
 * Whether a recording's files still hold the code that ran. Names and lines come from the files as they are now; a
 * program that has been rebuilt would get those of other functions.
 */
#ifndef TW_UNCHANGED_H
#define TW_UNCHANGED_H

#include <stddef.h>
#include <trackway/recording.h>

/* One file, and the result: recorded fragments whose code is at the same place in the file, and others. */
struct tw_code_check {
	const uint8_t *file; /* its bytes, mapped; NULL: unreadable, or not ELF */
	size_t bytes;
	uint64_t same, other;
	uint64_t seen; /* fragments where it was mapped; of many, not all are compared */
};

/* `check` is all zeros; tw_code_check_end in any case. */
void tw_code_check_begin(struct tw_code_check *check, const char *path);
void tw_code_check_end(struct tw_code_check *check);

/* Compares fragments with files: all, or for a large recording a part. `file_of`: the file of each module. Adds to `check` of each file. */
void tw_check_code(const struct tw_recording *r, const uint32_t *file_of, struct tw_code_check *check);

/*
 * Whether a file has changed: more than one fragment in 50 is not in it. In a rebuilt program much may still be at
 * the same place; and a program that patches its code has a few fragments that are not in its file.
 */
static inline int tw_code_changed(const struct tw_code_check *check)
{
	return check->other * 50 > check->same;
}

#endif
