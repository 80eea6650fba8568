/*
 * A function of which nothing ran where it was looked for: whether it is there, in the files that the program had mapped, as they are now. For who asks about it by name.
 */
#ifndef TW_ABSENT_H
#define TW_ABSENT_H

#include "names/names.h"

enum tw_absent_what {
	TW_ABSENT_NOWHERE, /* no file that can be read has it; near and blind say more */
	TW_ABSENT_RAN,     /* its code ran: in another part of the recording, or under another name */
	TW_ABSENT_IDLE,    /* it is there and was not executed */
	TW_ABSENT_INLINED, /* it is inlined wherever it is called: it has no code of its own */
};

struct tw_absent {
	enum tw_absent_what what;
	char *function, *module; /* NOWHERE: NULL. RAN: the name that its code has in reports */
	char *file;              /* IDLE: where it begins; NULL: not known */
	unsigned line;
	uint64_t address; /* IDLE: where it begins, by its file's own addresses */
	char near[512];   /* NOWHERE: names like it, with commas between; "" if there are none */
	char *blind;      /* NOWHERE: a file that could not be looked through; NULL: all were */
	char *nameless;   /* NOWHERE: a file most of whose functions have no symbol; NULL: there is none */
};

/* Looks for `function` in the files that `module` means (NULL: all). 0 or an enum tw_error; tw_absent_free in any case. */
int tw_absent_look(const struct tw_recording *r, const char *function, const char *module, struct tw_absent *out);
void tw_absent_free(struct tw_absent *a);

/* What there is to say of it in one sentence, without a full stop. The caller frees it; NULL: no memory. */
char *tw_absent_sentence(const struct tw_absent *a, const char *wanted);

#endif
