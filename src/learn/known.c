#include "learn/known.h"
#include "base/region.h"
#include "learn/file.h"
#include "learn/module.h"

#include <stdlib.h>
#include <string.h>

struct known {
	const struct tw_facts *facts;
	struct tw_module_file *modules;
	uint64_t *names; /* of modules, for keys; 0: it is not as it was */
	struct tw_control *control;
};

static void look_at_modules(struct known *k)
{
	for (size_t i = 0; i < k->facts->n_modules; i++) {
		const char *path = tw_facts_path(k->facts, (uint32_t)i);
		tw_module_read(path, &k->modules[i]);
		if (!strcmp(k->modules[i].build_id, tw_facts_build_id(k->facts, (uint32_t)i)))
			k->names[i] = tw_told_module(path);
	}
}

static int place_of(const struct known *k, uint32_t module, uint64_t vaddr, struct tw_told_place *at)
{
	at->module = k->names[module];
	return at->module && tw_module_offset(&k->modules[module], vaddr, &at->offset);
}

/* Before the program starts: nobody else is at it. */
static void enter(const struct known *k, struct tw_told_place at, uint64_t key)
{
	uint64_t *table = (uint64_t *)((char *)k->control + k->control->sizes.claims_at);
	for (uint32_t n = 0; n < TW_TOLD_PROBES; n++) {
		uint64_t *e = &table[(tw_told_first(at) + n) % k->control->sizes.claim_entries];
		if (*e && *e != key)
			continue;
		*e = key;
		return;
	}
}

static void enter_fact(const struct known *k, const struct tw_fact *f)
{
	struct tw_told_place from, to;
	const int is_block = f->kind == TW_FACT_BLOCK;
	if (f->kind > TW_FACT_CALL) /* which the bare engine does not tell */
		return;
	if (!place_of(k, f->module, is_block ? f->from : f->from - 1, &from))
		return;
	from.offset += !is_block;
	if (k->control->learn_log) {
		const struct tw_region_table t = {(uint64_t *)((char *)k->control + k->control->sizes.claims_at),
		                                  k->control->sizes.claim_entries};
		if (is_block)
			tw_region_add((enum tw_region_log)k->control->learn_log, t, from, f->to - f->from);
		return;
	}
	if (is_block)
		enter(k, from, tw_told_block(from, f->to - f->from));
	else if (place_of(k, f->to_module, f->to, &to))
		enter(k, from, tw_told_edge(from, to, f->kind == TW_FACT_CALL));
}

int tw_learn_known(const char *file, struct tw_control *c)
{
	struct tw_facts facts = {0};
	struct known k = {.facts = &facts, .control = c};
	int some = 0;
	if (tw_form_of(c->format) != TW_FORM_PLAIN || tw_learn_read(file, &facts))
		return 0;
	c->store.learned = facts.state;
	k.modules = calloc(facts.n_modules + 1, sizeof *k.modules);
	k.names = calloc(facts.n_modules + 1, sizeof *k.names);
	if (k.modules && k.names) {
		look_at_modules(&k);
		for (size_t i = 0; i < facts.n; i++)
			enter_fact(&k, &facts.facts[i]);
	}
	some = facts.n > 0;
	free(k.modules);
	free(k.names);
	tw_facts_free(&facts);
	return some;
}
