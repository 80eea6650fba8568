#include "names/anonymous.h"
#include "analyze/flow.h"
#include "analyze/mappings.h"
#include "recording/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What code in such a mapping is called; NULL: its code comes from a file, or is the kernel's. */
static const char *kind_of(const struct tw_mapping *m)
{
	switch (m->kind) {
	case TW_MAPPING_HEAP:
		return "code in the heap of";
	case TW_MAPPING_STACK:
	case TW_MAPPING_THREAD_STACK:
		return "code on the stack of";
	case TW_MAPPING_ZEROS:
		return "code in variables of";
	case TW_MAPPING_ANONYMOUS:
	case TW_MAPPING_SHARED:
		return "JIT code of";
	default:
		return NULL;
	}
}

static int add(struct tw_anonymous *a, const struct tw_places *p, const struct tw_mapping *m)
{
	const struct tw_thread_info *by = tw_recording_thread(p->recording, m->thread);
	const char *program = by ? tw_recording_program(p->recording, by) : "";
	char *label;
	if (asprintf(&label, "[%s %s]", kind_of(m), tw_base_name(*program ? program : tw_recording_info(p->recording)->program)) < 0)
		return 0;
	a->items[a->n++] = (struct tw_anonymous_span){m->address, m->end, m->pid, by ? p->image_of[m->thread] : TW_NO_INDEX, label};
	return 1;
}

int tw_anonymous_find(const struct tw_places *p, struct tw_anonymous *out)
{
	struct tw_mappings mappings;
	*out = (struct tw_anonymous){0};
	int ok = !tw_mappings_read(p->recording, &mappings);
	out->items = ok ? calloc(mappings.n + 1, sizeof *out->items) : NULL;
	ok &= out->items != NULL;
	for (size_t i = 0; ok && i < mappings.n; i++)
		if (mappings.items[i].prot & PROT_EXEC && kind_of(&mappings.items[i]))
			ok = add(out, p, &mappings.items[i]);
	tw_mappings_free(&mappings);
	return ok;
}

void tw_anonymous_free(struct tw_anonymous *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->items[i].label);
	free(a->items);
}

const struct tw_anonymous_span *tw_anonymous_at(const struct tw_anonymous *a, uint32_t pid, uint64_t pc)
{
	for (size_t i = a->n; i-- > 0;) {
		const struct tw_anonymous_span *s = &a->items[i];
		if ((s->pid == pid || TW_SYMBOLS_IMAGE(s->image) == pid) && pc >= s->start && pc < s->end)
			return s;
	}
	return NULL;
}
