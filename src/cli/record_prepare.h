/* Before the run of `trackway record`: finds the program, creates the recording, and prepares what --verify needs. */
#ifndef TW_RECORD_PREPARE_H
#define TW_RECORD_PREPARE_H

#include "cli/record_state.h"

/* Where translations are kept for the next recording; NULL: nowhere. */
const char *tw_record_place_to_keep(const struct record *r, char path[TW_KEEP_PATH]);

uint64_t tw_record_bytes_to_keep(const struct record *r);

int tw_record_own_error(const struct record *r, int error);

int tw_record_check_chunk(void *context, const struct tw_chunk *chunk);

/* Which limits there are, and that they are too low. */
int tw_record_too_little(const struct tw_sizes *least);

int tw_record_prepare_program(struct record *r);

/* With analyzers, or in format none, nothing is stored unless requested. */
int tw_record_prepare_recording(struct record *r);

int tw_record_prepare_verify(struct record *r);

#endif
