/*
 * Prints text from a recorded program, any bytes, so that it cannot harm a terminal and fits the line; and counts.
 */
#ifndef TW_PRINTABLE_H
#define TW_PRINTABLE_H

#include <stdint.h>
#include <stdio.h>

/* Control characters as \xNN. */
void tw_print_safe(FILE *f, const char *s);

/* A command line, NULL-terminated; words are quoted for a shell where necessary. */
void tw_print_command(FILE *f, const char *const *argv);

/* Columns of the stream's terminal; 0: none. */
unsigned tw_terminal_columns(FILE *f);

/* At most so many columns of a text; a longer text ends with "..". Each UTF-8 character counts as one column. */
void tw_print_cut(FILE *f, const char *s, unsigned columns);

/* A count in at most 6 columns, 12.3M; and with commas, 12,345,678. Both return `to`. */
const char *tw_scaled(uint64_t n, char to[16]);
const char *tw_grouped(uint64_t n, char to[32]);

/* A share in per cent with three digits: "12.3%"; "less than 0.001%". Returns `to`. */
const char *tw_percent(uint64_t part, uint64_t whole, char to[32]);

#endif
