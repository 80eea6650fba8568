/*
 * Text output in big pieces, formatted by hand where speed counts: a buffer that either goes to a file descriptor as it fills, or grows.
 */
#ifndef TW_TEXT_H
#define TW_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct tw_text {
	int fd;    /* -1: keep all of it */
	int error; /* errno of the first failed write; from then on text is discarded. ENOMEM if there is no memory */
	char *bytes;
	size_t n, room;
};

void tw_text_init(struct tw_text *t, int fd);
void tw_text_free(struct tw_text *t);

/* Room for n bytes at the end of the text, or NULL after an error. The caller writes there and adds what it wrote to t->n. */
char *tw_text_room(struct tw_text *t, size_t n);

void tw_text_put(struct tw_text *t, const char *bytes, size_t n);
void tw_text_printf(struct tw_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text that came from a recorded program: control characters as \xNN. */
void tw_text_safe(struct tw_text *t, const char *s);

/* Writes out what is buffered, to `fd`. */
void tw_text_flush(struct tw_text *t, int fd);

/* Bytes of the UTF-8 character at `s`, which ends with NUL (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF); 0: there is none. */
unsigned tw_utf8_length(const unsigned char *s);

/* Has the name this at its end, and something before it? */
int tw_has_suffix(const char *name, const char *suffix);

/* A decimal number of bytes, or of k, M or G of them, of 1024 each. 0: the text is none of these, or is more than 64 bits hold. */
int tw_parse_bytes(const char *text, uint64_t *bytes);

/* Write a number at p, hexadecimal with at least `width` digits or decimal, and return the place after it; at most 20 bytes. */
char *tw_put_hex(char *p, uint64_t v, unsigned width);
char *tw_put_decimal(char *p, uint64_t v);

#endif
