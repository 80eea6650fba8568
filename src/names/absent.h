/*
 * A function asked for by name in which nothing ran: does it exist in the files that the program had mapped, as they
 * are now?
 */
#ifndef TW_ABSENT_H
#define TW_ABSENT_H

#include "names/names.h"

enum tw_absent_what {
	TW_ABSENT_NOWHERE, /* not in any file that can be read; near and blind say more */
	TW_ABSENT_RAN,     /* its code ran: in another part of the recording, or under another name */
	TW_ABSENT_IDLE,    /* it is there and was not executed */
	TW_ABSENT_INLINED, /* it is inlined at every call: it has no code of its own */
};

struct tw_absent {
	enum tw_absent_what what;
	char *function, *module; /* NOWHERE: NULL. RAN: the name that its code has in reports */
	char *file;              /* IDLE: where it begins; NULL: not known */
	unsigned line;
	uint64_t address; /* IDLE: where it begins, by its file's own addresses */
	char near[512];   /* NOWHERE: similar names, separated by commas; "" if there are none */
	char *blind;      /* NOWHERE: a file that could not be searched; NULL: all were */
	char *nameless;   /* NOWHERE: a file in which most functions have no symbol; NULL: none */
};

/* Looks for `function` in the files that `module` names (NULL: all). 0 or an enum tw_error; tw_absent_free in any case. */
int tw_absent_look(const struct tw_recording *r, const char *function, const char *module, struct tw_absent *out);
void tw_absent_free(struct tw_absent *a);

/* The result as one sentence without a full stop. The caller frees it; NULL: no memory. */
char *tw_absent_sentence(const struct tw_absent *a, const char *wanted);

#endif
