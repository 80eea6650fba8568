#include "names/anonymous.h"
#include "analyze/mappings.h"
#include "names/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What code in such a mapping is called; NULL: code in it has a file, or is the kernel's. */
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

/* What a process ran last. */
static const char *program_of(const struct tw_recording *r, uint32_t pid)
{
	for (size_t i = tw_recording_n_processes(r); i-- > 0;) {
		const struct tw_process *p = tw_recording_process(r, i);
		if (p->pid == pid && p->program[0])
			return p->program;
	}
	return tw_recording_info(r)->program;
}

static int add(struct tw_anonymous *a, const struct tw_recording *r, const struct tw_mapping *m)
{
	char *label;
	if (asprintf(&label, "[%s %s]", kind_of(m), tw_base_name(program_of(r, m->pid))) < 0)
		return 0;
	a->items[a->n++] = (struct tw_anonymous_span){m->address, m->end, m->pid, label};
	return 1;
}

int tw_anonymous_find(const struct tw_recording *r, struct tw_anonymous *out)
{
	struct tw_mappings mappings;
	*out = (struct tw_anonymous){0};
	int ok = !tw_mappings_read(r, &mappings);
	out->items = ok ? calloc(mappings.n + 1, sizeof *out->items) : NULL;
	ok &= out->items != NULL;
	for (size_t i = 0; ok && i < mappings.n; i++)
		if (mappings.items[i].prot & PROT_EXEC && kind_of(&mappings.items[i]))
			ok = add(out, r, &mappings.items[i]);
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
	for (size_t i = a->n; i-- > 0;)
		if (a->items[i].pid == pid && pc >= a->items[i].start && pc < a->items[i].end)
			return &a->items[i];
	return NULL;
}
