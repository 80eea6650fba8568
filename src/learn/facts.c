#include "learn/facts.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

const char *const tw_fact_names[TW_FACT_KINDS] = {"blocks", "edges", "calls", "contexts", "context edges", "references"};

void tw_facts_free(struct tw_facts *f)
{
	tw_texts_free(&f->texts);
	free(f->modules);
	free(f->facts);
	free(f->slots);
	*f = (struct tw_facts){0};
}

uint32_t tw_facts_text(struct tw_facts *f, const char *text)
{
	return tw_texts_number(&f->texts, text);
}

const char *tw_facts_path(const struct tw_facts *f, uint32_t module)
{
	return f->texts.items[f->modules[module].path];
}

const char *tw_facts_build_id(const struct tw_facts *f, uint32_t module)
{
	return f->texts.items[f->modules[module].build_id];
}

int tw_facts_has_build(const struct tw_facts *f, uint32_t module, uint32_t first)
{
	for (uint32_t i = first; i < f->n_modules; i++)
		if (i != module && f->modules[i].path == f->modules[module].path)
			return 1;
	return 0;
}

uint32_t tw_facts_module(struct tw_facts *f, const char *build_id, const char *path)
{
	const struct tw_learned_module m = {tw_facts_text(f, build_id), tw_facts_text(f, path)};
	if (m.build_id == TW_NO_TEXT || m.path == TW_NO_TEXT)
		return TW_NO_NUMBER;
	for (size_t i = 0; i < f->n_modules; i++)
		if (f->modules[i].build_id == m.build_id && f->modules[i].path == m.path)
			return (uint32_t)i;
	struct tw_learned_module *modules = tw_array_room(f->modules, f->n_modules, &f->modules_room, sizeof m);
	if (!modules)
		return TW_NO_NUMBER;
	f->modules = modules;
	modules[f->n_modules] = m;
	return (uint32_t)f->n_modules++;
}

/* ---- the set ---- */

static int same(const struct tw_fact *a, const struct tw_fact *b)
{
	return a->kind == b->kind && a->module == b->module && a->to_module == b->to_module && a->from == b->from && a->to == b->to &&
	       a->parent == b->parent;
}

/* The slot of the fact, or the free one for it. */
static size_t slot_of(const struct tw_facts *f, const struct tw_fact *fact)
{
	const uint64_t key[4] = {(uint64_t)fact->kind << 32 | fact->module, (uint64_t)fact->parent << 32 | fact->to_module, fact->from,
	                         fact->to};
	size_t at = XXH64(key, sizeof key, 0) & (f->n_slots - 1);
	while (f->slots[at] && !same(&f->facts[f->slots[at] - 1], fact))
		at = (at + 1) & (f->n_slots - 1);
	return at;
}

static int grow(struct tw_facts *f)
{
	enum { FIRST = 1024 };
	const size_t n = f->n_slots ? 2 * f->n_slots : FIRST;
	uint32_t *slots = calloc(n, sizeof *slots);
	if (!slots)
		return tw_fail(TW_ERR_MEMORY, "facts");
	free(f->slots);
	f->slots = slots;
	f->n_slots = n;
	for (size_t i = 0; i < f->n; i++)
		slots[slot_of(f, &f->facts[i])] = (uint32_t)i + 1;
	return TW_OK;
}

int tw_facts_add(struct tw_facts *f, const struct tw_fact *fact)
{
	if (2 * f->n >= f->n_slots && grow(f))
		return TW_ERR_MEMORY;
	const size_t at = slot_of(f, fact);
	if (f->slots[at])
		return 0;
	struct tw_fact *facts = tw_array_room(f->facts, f->n, &f->room, sizeof *facts);
	if (!facts)
		return tw_fail(TW_ERR_MEMORY, "facts");
	f->facts = facts;
	facts[f->n] = *fact;
	f->slots[at] = (uint32_t)++f->n;
	return 1;
}

uint32_t tw_facts_find(const struct tw_facts *f, const struct tw_fact *fact)
{
	return f->n_slots ? f->slots[slot_of(f, fact)] : 0;
}

void tw_facts_count(const struct tw_facts *f, uint64_t n[TW_FACT_KINDS])
{
	memset(n, 0, TW_FACT_KINDS * sizeof *n);
	for (size_t i = 0; i < f->n; i++)
		n[f->facts[i].kind]++;
}

/* ---- merging ---- */

/* Translates the numbers of another set's modules, texts and facts to this one's. */
struct numbers {
	uint32_t *module, *text, *fact;
};

static int translate(struct tw_facts *f, const struct tw_facts *from, struct numbers *n)
{
	n->module = calloc(from->n_modules + 1, sizeof *n->module);
	n->text = calloc(from->texts.n + 1, sizeof *n->text);
	n->fact = calloc(from->n + 1, sizeof *n->fact);
	if (!n->module || !n->text || !n->fact)
		return tw_fail(TW_ERR_MEMORY, "facts");
	for (size_t i = 0; i < from->n_modules; i++) {
		n->module[i] = tw_facts_module(f, tw_facts_build_id(from, (uint32_t)i), tw_facts_path(from, (uint32_t)i));
		if (n->module[i] == TW_NO_NUMBER)
			return tw_fail(TW_ERR_MEMORY, "facts");
	}
	for (uint32_t i = 0; i < from->texts.n; i++) {
		n->text[i] = tw_facts_text(f, from->texts.items[i]);
		if (n->text[i] == TW_NO_TEXT)
			return tw_fail(TW_ERR_MEMORY, "facts");
	}
	return TW_OK;
}

int tw_facts_merge(struct tw_facts *f, const struct tw_facts *from, uint64_t added[TW_FACT_KINDS])
{
	struct numbers n = {0};
	int error = translate(f, from, &n);
	memset(added, 0, TW_FACT_KINDS * sizeof *added);
	for (size_t i = 0; i < from->n && !error; i++) {
		struct tw_fact fact = from->facts[i];
		fact.module = n.module[fact.module];
		fact.to_module = n.module[fact.to_module];
		fact.function = n.text[fact.function];
		fact.file = n.text[fact.file];
		fact.parent = n.fact[fact.parent];
		const int new = tw_facts_add(f, &fact);
		n.fact[i + 1] = tw_facts_find(f, &fact);
		error = new < 0 ? new : TW_OK;
		added[fact.kind] += new > 0;
	}
	f->runs += from->runs;
	free(n.module);
	free(n.text);
	free(n.fact);
	return error;
}
