/*
 * Text to import: a file or a pipe, plain or compressed with gzip, xz or zstd; its first bytes tell which.
 */
#ifndef TW_INPUT_H
#define TW_INPUT_H

#include <stddef.h>
#include <sys/types.h>

struct tw_input;

/* `path` is "-" for standard input. 0 or a negative enum tw_error, whose detail does not name the file; the caller closes *out. */
int tw_input_open(const char *path, struct tw_input **out);
void tw_input_close(struct tw_input *in);

/* Up to n bytes of the text; 0 at its end, else a negative enum tw_error. */
ssize_t tw_input_read(struct tw_input *in, void *to, size_t n);

/* Whether compressed data was truncated; tw_input_read treats that as the end of the text. */
int tw_input_cut_off(const struct tw_input *in);

#endif
