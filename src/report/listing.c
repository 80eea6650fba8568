#include "report/listing.h"
#include "base/array.h"
#include "names/places.h"
#include "replay/disassemble.h"

#include <stdlib.h>
#include <string.h>

/* ---- instructions by function ---- */

static int by_owner(const void *a, const void *b)
{
	const struct tw_listing_place *x = a, *y = b;
	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->insn > y->insn) - (x->insn < y->insn); /* the profile has them by address */
}

static int find_owners(struct tw_listing *l)
{
	l->order = calloc(l->profile.n_insns + 1u, sizeof *l->order);
	if (!l->order)
		return TW_ERR_MEMORY;
	for (uint32_t i = 0; i < l->profile.n_insns; i++) {
		const struct tw_profile_insn *p = &l->profile.insns[i];
		struct tw_owned owned;
		int error = tw_owners_find(&l->owners, p->image, p->pc, 0, &owned);
		if (error)
			return error;
		l->order[i] = (struct tw_listing_place){owned.owner, p->image, i};
	}
	qsort(l->order, l->profile.n_insns, sizeof *l->order, by_owner);
	return 0;
}

static void add_insn(struct tw_listing_function *f, const struct tw_profile_insn *p)
{
	f->insns += p->executions;
	f->reads += p->reads;
	f->writes += p->writes;
}

/* Adds what a function did in one image: order[first] up to order[end]. */
static void add_image(struct tw_listing *l, struct tw_listing_function *f, size_t first, size_t end)
{
	uint64_t before = f->insns;
	for (size_t i = first; i < end; i++)
		add_insn(f, &l->profile.insns[l->order[i].insn]);
	if (f->n && f->insns - before <= f->most)
		return;
	f->most = f->insns - before;
	f->image = l->order[first].image;
	f->first = first;
	f->n = end - first;
}

static void name_function(const struct tw_listing *l, struct tw_listing_function *f)
{
	const struct tw_owner *o = &l->owners.items[f->owner];
	struct tw_code_name name;
	tw_names_code(l->names, o->image, o->pc, &name);
	const struct tw_name_frame *outer = &name.frame[name.n_frames - 1];
	f->name = o->name;
	f->module = tw_base_name(l->owners.objects.items[o->object]);
	f->file = outer->file;
	f->line = outer->line;
	f->stub = name.plt != 0;
}

static int by_name(const void *a, const void *b)
{
	const struct tw_listing_function *x = a, *y = b;
	int order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->module, y->module);
}

static void mark_namesakes(struct tw_listing *l)
{
	qsort(l->functions, l->n_functions, sizeof *l->functions, by_name);
	for (size_t i = 1; i < l->n_functions; i++)
		if (!by_name(&l->functions[i - 1], &l->functions[i]))
			l->functions[i - 1].namesake = l->functions[i].namesake = 1;
}

static int most_first(const void *a, const void *b)
{
	const struct tw_listing_function *x = a, *y = b;
	if (x->insns != y->insns)
		return x->insns > y->insns ? -1 : 1;
	return (x->owner > y->owner) - (x->owner < y->owner);
}

static int make_functions(struct tw_listing *l)
{
	size_t n = l->profile.n_insns;
	l->functions = calloc(l->owners.n + 1u, sizeof *l->functions);
	if (!l->functions)
		return TW_ERR_MEMORY;
	for (size_t i = 0, end; i < n; i = end) {
		uint32_t owner = l->order[i].owner;
		for (end = i + 1; end < n && l->order[end].owner == owner && l->order[end].image == l->order[i].image;)
			end++;
		if (!l->n_functions || l->functions[l->n_functions - 1].owner != owner)
			l->functions[l->n_functions++].owner = owner;
		add_image(l, &l->functions[l->n_functions - 1], i, end);
	}
	for (size_t i = 0; i < l->n_functions; i++)
		name_function(l, &l->functions[i]);
	mark_namesakes(l);
	qsort(l->functions, l->n_functions, sizeof *l->functions, most_first);
	return 0;
}

void tw_listing_drop_stubs(struct tw_listing *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n_functions; i++)
		if (!l->functions[i].stub)
			l->functions[n++] = l->functions[i];
	l->n_functions = n;
}

/* ---- code ---- */

static int by_pc(const void *a, const void *b)
{
	const struct tw_listing_code *x = a, *y = b;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

static int find_codes(struct tw_listing *l)
{
	for (size_t i = 0; i < tw_recording_n_descriptors(l->recording); i++) {
		const struct tw_descriptor *d = tw_recording_descriptor_at(l->recording, i);
		for (uint32_t k = 0; k < d->n_blocks; k++) {
			struct tw_listing_code *codes = tw_array_room(l->codes, l->n_codes, &l->codes_room, sizeof *codes);
			if (!codes)
				return TW_ERR_MEMORY;
			l->codes = codes;
			codes[l->n_codes++] = (struct tw_listing_code){tw_descriptor_blocks(d)[k].pc, d->pid, k, d};
		}
	}
	qsort(l->codes, l->n_codes, sizeof *l->codes, by_pc);
	return 0;
}

/* The index in the fragment of this block's instruction at pc; -1: none there of this length. */
static int insn_in(const struct tw_listing_code *code, uint64_t pc, unsigned length)
{
	const struct tw_block *b = &tw_descriptor_blocks(code->descriptor)[code->block];
	const uint8_t *bytes = tw_descriptor_insn_bytes(code->descriptor);
	uint64_t at = b->pc;
	for (int i = b->first_insn; i < b->first_insn + b->n_insns && at <= pc; at += bytes[i++])
		if (at == pc && bytes[i] == length)
			return i;
	return -1;
}

void tw_listing_disassemble(const struct tw_listing *l, const struct tw_profile_insn *p, char *text, size_t size)
{
	enum { FARTHEST = 4096, TRIES = 256 }; /* a block is not longer than its instructions can be; at most so many others overlap it */
	const struct tw_listing_code key = {.pc = p->pc};
	size_t at = tw_array_until(&key, l->codes, l->n_codes, sizeof key, by_pc);
	uint32_t pid = p->image < l->profile.n_images ? l->profile.images[p->image].pid : 0;
	const struct tw_listing_code *found = NULL;
	for (unsigned k = 0; k < TRIES && at-- > 0 && p->pc - l->codes[at].pc < FARTHEST; k++) {
		if (insn_in(&l->codes[at], p->pc, p->length) < 0)
			continue;
		found = &l->codes[at];
		if (found->pid == pid)
			break;
	}
	if (found)
		tw_disassemble(found->descriptor, (unsigned)insn_in(found, p->pc, p->length), text, size);
	else
		snprintf(text, size, "(no code)");
}

/* ---- all of it ---- */

int tw_listing_init(struct tw_listing *l, const struct tw_recording *r, struct tw_names *names, const struct tw_replay_options *replay,
                    tw_hot_replay *run, void *run_context)
{
	const struct tw_profile_options options = {.replay = *replay, .count_refs = 1, .run = run, .run_context = run_context};
	*l = (struct tw_listing){.recording = r, .names = names};
	tw_sources_init(&l->sources, r);
	int error = tw_profile_recording(r, &options, &l->profile);
	error = error ? error : tw_owners_init(&l->owners, names, r);
	error = error ? error : find_owners(l);
	error = error ? error : make_functions(l);
	return error ? error : find_codes(l);
}

void tw_listing_free(struct tw_listing *l)
{
	free(l->codes);
	free(l->functions);
	free(l->order);
	tw_sources_free(&l->sources);
	tw_owners_free(&l->owners);
	tw_profile_free(&l->profile);
}
