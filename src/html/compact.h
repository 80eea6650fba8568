/*
 * JSON without blanks, for large amounts of data in pages or over sockets. (report/json.h is for people.)
 *
 * Texts are safe in a <script> element: '<' is written \u003c. Bytes that are not UTF-8 become U+FFFD.
 */
#ifndef TW_COMPACT_H
#define TW_COMPACT_H

#include <stdint.h>
#include <stdio.h>

struct tw_compact {
	FILE *f;
	int comma; /* the next item is not the first of its object or array */
};

/* `key` is NULL in arrays and at the top. */
void tw_compact_open(struct tw_compact *c, const char *key, char bracket); /* '{' or '[' */
void tw_compact_close(struct tw_compact *c, char bracket);                 /* '}' or ']' */
void tw_compact_number(struct tw_compact *c, const char *key, uint64_t value);
void tw_compact_real(struct tw_compact *c, const char *key, double value);
void tw_compact_address(struct tw_compact *c, const char *key, uint64_t value); /* as a text: "0x..." */
void tw_compact_json(struct tw_compact *c, const char *json);                   /* what is JSON already */
void tw_compact_text(struct tw_compact *c, const char *key, const char *text);  /* NULL: null */

#endif
