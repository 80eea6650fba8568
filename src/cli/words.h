/*
 * What came from a recorded program, printed: any bytes so that a terminal is safe from them, and no more than fits the line.
 */
#ifndef TW_WORDS_H
#define TW_WORDS_H

#include <stdio.h>

/* Control characters as \xNN. */
void tw_print_safe(FILE *f, const char *s);

/* A command line, NULL-terminated, with words quoted for a shell where they must be. */
void tw_print_command(FILE *f, const char *const *argv);

/* At most so many columns of a text, which ends with ".." if there is more of it. Each character of UTF-8 counts as one column. */
void tw_print_cut(FILE *f, const char *s, unsigned columns);

#endif
