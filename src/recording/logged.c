#include "recording/logged.h"

#include <string.h>

#define LONGEST_RUN (1ull << 36)

void tw_logged_begin(struct tw_logged *l, const void *entries, size_t bytes)
{
	memset(l, 0, sizeof *l);
	l->at = entries;
	l->end = l->at + bytes;
}

static int take(struct tw_logged *l, struct tw_logged_ref *ref)
{
	if ((size_t)(l->end - l->at) < sizeof *ref)
		return 0;
	memcpy(ref, l->at, sizeof *ref);
	l->at += sizeof *ref;
	return 1;
}

/* Is the next entry the start of the second run of this one's instruction? */
static int has_second(const struct tw_logged *l)
{
	struct tw_logged copy = *l;
	struct tw_logged_ref next;
	return take(&copy, &next) && next.count == TW_LOGGED_RUN && next.insn == l->first.insn;
}

/* Begins the run whose first entry is l->first; 0: it is not whole. */
static int begin_run(struct tw_logged *l)
{
	struct tw_logged_ref length;
	if (!take(l, &length) || length.count != TW_LOGGED_RUN || length.addr > LONGEST_RUN)
		return 0;
	l->left = length.addr;
	l->step = (int32_t)length.size;
	l->turn = 0;
	l->second.size = 0;
	if (!has_second(l))
		return 1;
	l->left *= 2;
	return take(l, &l->second) && l->second.size <= TW_REF_MOST && take(l, &length);
}

static void next_of_run(struct tw_logged *l, struct tw_logged_ref *ref)
{
	struct tw_logged_ref *from = l->turn ? &l->second : &l->first;
	*ref = *from;
	ref->count = 1;
	from->addr += (uint64_t)l->step;
	l->turn = l->second.size ? !l->turn : 0;
	l->left--;
}

int tw_logged_next(struct tw_logged *l, struct tw_logged_ref *ref)
{
	while (!l->left) {
		if (!take(l, ref))
			return 0;
		if (ref->size > TW_REF_MOST)
			return -1;
		if (ref->count != TW_LOGGED_RUN)
			return 1;
		l->first = *ref;
		if (!begin_run(l))
			return -1;
	}
	next_of_run(l, ref);
	return 1;
}
