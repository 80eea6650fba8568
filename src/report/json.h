/*
 * Minimal JSON output: objects and arrays are written member by member to a stream, with commas and indentation.
 */
#ifndef TW_JSON_H
#define TW_JSON_H

#include <stdint.h>
#include <stdio.h>

struct tw_json {
	FILE *f;
	int depth;
	int first; /* nothing written yet at this depth */
};

/* `key` is NULL in arrays and at the top. */
void tw_json_open(struct tw_json *j, const char *key, char bracket); /* '{' or '[' */
void tw_json_close(struct tw_json *j, char bracket);                 /* '}' or ']' */

/* Opens the top object, and names its schema in docs/json.md: "trackway-NAME-VERSION". */
void tw_json_begin(struct tw_json *j, const char *name);

void tw_json_number(struct tw_json *j, const char *key, uint64_t value);
void tw_json_signed(struct tw_json *j, const char *key, int64_t value);
void tw_json_real(struct tw_json *j, const char *key, double value); /* null if it is infinite or no number */
void tw_json_bool(struct tw_json *j, const char *key, int value);
void tw_json_null(struct tw_json *j, const char *key);

/* Any bytes: valid UTF-8 stays as it is; each other byte becomes U+DC00 + byte (as Python's surrogateescape does), so nothing is lost. */
void tw_json_text(struct tw_json *j, const char *key, const char *text);

#endif
