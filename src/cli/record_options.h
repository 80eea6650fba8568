/* The options of `trackway record`: their values, and which exclude each other. Errors are reported in a sentence. */
#ifndef TW_RECORD_OPTIONS_H
#define TW_RECORD_OPTIONS_H

#include "cli/record_state.h"

int tw_record_bad_usage(const char *what, const char *value);

/* Returns -1 to go on, or the exit status. */
int tw_record_parse(struct record *r, int argc, char **argv);

#endif
