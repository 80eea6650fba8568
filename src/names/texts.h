/*
 * Texts by number: each different text gets the next number, from 0 on.
 */
#ifndef TW_TEXTS_H
#define TW_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct tw_texts {
	char **items; /* texts by number; they stay where they are */
	uint32_t n, room;
	uint32_t *slots; /* open hash of numbers + 1, twice `room` */
};

/* In place of a number: there is no memory. */
#define TW_NO_TEXT UINT32_MAX

/* The number of a text, which is copied if it is new. *names starts as all zeros. */
uint32_t tw_texts_number(struct tw_texts *names, const char *text);
void tw_texts_free(struct tw_texts *names);

#endif
