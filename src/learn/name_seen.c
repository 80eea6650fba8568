#include "learn/name_seen.h"
#include "base/array.h"
#include "learn/module.h"
#include "names/names.h"
#include "recording/recording.h"

#include <stdlib.h>

uint32_t tw_seen_module(struct tw_seen_naming *n, const char *path)
{
	struct tw_module_file file;
	const uint32_t text = tw_facts_text(n->facts, path);
	if (text == TW_NO_TEXT)
		return TW_NO_NUMBER;
	uint32_t *module_of = tw_array_zeros(n->module_of, text, &n->modules_room, sizeof *module_of);
	if (!module_of)
		return TW_NO_NUMBER;
	n->module_of = module_of;
	if (!module_of[text]) {
		tw_module_read(path, &file);
		module_of[text] = tw_facts_module(n->facts, file.build_id, path) + 1;
	}
	return module_of[text] - 1;
}

/* Is `from` the place of an instruction, not that behind one? */
static int begins_there(const struct tw_seen *seen)
{
	return seen->kind == TW_FACT_BLOCK || seen->kind == TW_FACT_REF;
}

/* Does `to` name a place? */
static int leads_somewhere(const struct tw_seen *seen)
{
	return seen->kind == TW_FACT_EDGE || seen->kind == TW_FACT_CALL || seen->kind == TW_FACT_CONTEXT_EDGE;
}

static int is_in_file(const struct tw_code_name *at)
{
	return at->path[0] && at->path[0] != '[';
}

/* For a block its end, in the file's addresses; otherwise the meaning of `to`. */
static uint64_t end_of(const struct tw_seen *seen, uint64_t from)
{
	return seen->kind == TW_FACT_BLOCK ? from + (seen->to - seen->from) : seen->to;
}

/*
 * Code in no file has no name in another run, nor has a context with such code. number[]: facts' numbers, by number
 * of what was seen, from 1.
 */
static int name_one(struct tw_seen_naming *n, const struct tw_seen *seen, uint32_t *number, size_t i)
{
	struct tw_code_name from, to;
	const int begins = begins_there(seen), leads = leads_somewhere(seen);
	tw_names_code(n->names, seen->image, begins ? seen->from : seen->from - 1, &from);
	if (leads)
		tw_names_code(n->names, seen->image, seen->to, &to);
	if (!is_in_file(&from) || (leads && !is_in_file(&to)) || (seen->parent && !number[seen->parent]))
		return TW_OK;
	struct tw_fact fact = {
	    .kind = seen->kind,
	    .module = tw_seen_module(n, from.path),
	    .function = tw_facts_text(n->facts, from.function),
	    .file = tw_facts_text(n->facts, from.file ? from.file : ""),
	    .line = from.line,
	    .parent = number[seen->parent],
	    .from = begins ? from.vaddr : from.vaddr + 1,
	};
	fact.to_module = leads ? tw_seen_module(n, to.path) : fact.module;
	fact.to = leads ? to.vaddr : end_of(seen, fact.from);
	if (fact.module == TW_NO_NUMBER || fact.to_module == TW_NO_NUMBER || fact.function == TW_NO_TEXT || fact.file == TW_NO_TEXT)
		return tw_fail(TW_ERR_MEMORY, "facts");
	const int new = tw_facts_add(n->facts, &fact);
	number[i + 1] = tw_facts_find(n->facts, &fact);
	return new < 0 ? new : TW_OK;
}

/* Where each of what was seen is, for names. */
static struct tw_names *open_names(const struct tw_seen_naming *n, const struct tw_seen_set *all)
{
	struct tw_ran_block *ran = malloc((all->n + 1) * sizeof *ran);
	if (!ran)
		return NULL;
	for (size_t i = 0; i < all->n; i++) {
		const struct tw_seen *seen = &all->of[i];
		ran[i] = (struct tw_ran_block){tw_places_pid(n->places, TW_SYMBOLS_IMAGE(seen->image)),
		                               seen->kind == TW_FACT_BLOCK ? (uint32_t)(seen->to - seen->from) : 1,
		                               begins_there(seen) ? seen->from : seen->from - 1};
	}
	struct tw_names *names = tw_names_open_with(n->recording, ran, all->n);
	free(ran);
	return names;
}

int tw_seen_name(struct tw_seen_naming *n, const struct tw_seen_set *seen)
{
	uint32_t *number = calloc(seen->n + 1, sizeof *number);
	int error = TW_OK;
	if (!number || (seen->n && !(n->names = open_names(n, seen))))
		error = tw_fail(TW_ERR_MEMORY, "names");
	for (size_t i = 0; i < seen->n && !error; i++)
		error = name_one(n, &seen->of[i], number, i);
	free(number);
	return error;
}

void tw_seen_naming_free(struct tw_seen_naming *n)
{
	free(n->module_of);
	tw_names_close(n->names);
}
