#include "analyzers/race_report.h"
#include "analyzers/runtime_code.h"
#include "base/array.h"
#include "names/places.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = TW_CALLPATH_TEXT, NAME = 400, MOST = 10000 };

/* ---- suppressions ---- */

static int add_rule(struct tw_races *r, const char *line)
{
	static const char *const kinds[] = {"function:", "file:", "module:", "object:", NULL};
	char **rules = tw_array_room(r->rules, r->n_rules, &r->rules_room, sizeof *rules);
	int known = 0;
	for (const char *const *k = kinds; *k; k++)
		known |= !strncmp(line, *k, strlen(*k));
	if (!known)
		return tw_context_wrong(r->context, "suppressions are function:, file:, module: or object: and a pattern, not '%s'", line);
	if (!rules)
		return TW_ERR_MEMORY;
	r->rules = rules;
	rules[r->n_rules] = strdup(line);
	return rules[r->n_rules] ? (r->n_rules++, 0) : TW_ERR_MEMORY;
}

int tw_races_suppress(struct tw_races *r, const char *path)
{
	char line[1024];
	FILE *f = fopen(path, "re");
	int error = f ? 0 : tw_context_wrong(r->context, "%s: %s", path, strerror(errno));
	while (f && !error && fgets(line, sizeof line, f)) {
		char *text = line + strspn(line, " \t");
		text[strcspn(text, "\r\n")] = 0;
		if (*text && *text != '#')
			error = add_rule(r, text);
	}
	if (f)
		fclose(f);
	return error;
}

/* Does a rule of this kind match? */
static int has_rule(const struct tw_races *r, const char *kind, const char *value)
{
	for (size_t i = 0; i < r->n_rules; i++)
		if (!strncmp(r->rules[i], kind, strlen(kind)) && !fnmatch(r->rules[i] + strlen(kind), value, 0))
			return 1;
	return 0;
}

static int code_is_suppressed(const struct tw_races *r, struct tw_names *names, uint32_t image, uint64_t pc)
{
	struct tw_code_name name;
	tw_names_code(names, image, pc, &name);
	if (has_rule(r, "module:", name.module))
		return 1;
	for (unsigned k = 0; k < name.n_frames; k++)
		if (has_rule(r, "function:", name.frame[k].function) ||
		    (name.frame[k].file && has_rule(r, "file:", tw_base_name(name.frame[k].file))))
			return 1;
	return 0;
}

static int is_suppressed(const struct tw_races *r, const struct tw_race *race, const struct tw_callpaths *paths, struct tw_names *names,
                         const char *object)
{
	if (!r->n_rules)
		return 0;
	if (has_rule(r, "object:", object))
		return 1;
	for (int i = 0; i < 2; i++) {
		if (code_is_suppressed(r, names, race->image[i], race->access[i].pc))
			return 1;
		for (uint32_t node = race->access[i].path; node; node = paths->nodes[node].parent)
			if (code_is_suppressed(r, names, race->image[i], paths->nodes[node].back - 1))
				return 1;
	}
	return 0;
}

/* Is one of the accesses Go's runtime's own? */
static int is_go_runtimes(const struct tw_race *race, struct tw_names *names)
{
	struct tw_code_name name;
	for (int i = 0; i < 2; i++) {
		tw_names_code(names, race->image[i], race->access[i].pc, &name);
		if (tw_is_go_runtime(name.function) || tw_is_go_assembly(name.function, name.file))
			return 1;
	}
	return 0;
}

/* ---- races ---- */

static int is_same_place(const struct tw_race *a, int i, const struct tw_race *b, int k)
{
	return a->access[i].pc == b->access[k].pc && a->image[i] == b->image[k];
}

static int is_same(const struct tw_race *a, const struct tw_race *b)
{
	return (is_same_place(a, 0, b, 0) && is_same_place(a, 1, b, 1)) || (is_same_place(a, 0, b, 1) && is_same_place(a, 1, b, 0));
}

/* Once more. */
static void note_time(struct tw_race *to, const struct tw_race *race)
{
	to->times++;
	if (to->n_at == TW_RACE_TIMES_KEPT)
		return;
	for (int i = 0; i < 2; i++) {
		to->at[to->n_at].thread[i] = race->access[i].thread;
		to->at[to->n_at].clock[i] = race->access[i].clock;
	}
	to->n_at++;
}

int tw_races_note(struct tw_races *r, const struct tw_race *race)
{
	for (size_t i = r->n; i-- > 0;)
		if (is_same(&r->items[i], race)) {
			note_time(&r->items[i], race);
			return 1;
		}
	return 0;
}

int tw_races_add(struct tw_races *r, const struct tw_race *race)
{
	struct tw_race *items = r->n < MOST ? tw_array_room(r->items, r->n, &r->room, sizeof *items) : NULL;
	if (!items)
		return r->n < MOST ? TW_ERR_MEMORY : 0;
	r->items = items;
	items[r->n] = *race;
	note_time(&items[r->n++], race);
	return 0;
}

int tw_races_expect(struct tw_races *r, uint64_t pc, uint32_t image)
{
	for (size_t i = 0; i < r->n_expected; i++)
		if (r->expected[i].pc == pc && r->expected[i].image == image)
			return 0;
	struct tw_race_expected *expected = tw_array_room(r->expected, r->n_expected, &r->expected_room, sizeof *expected);
	if (!expected)
		return TW_ERR_MEMORY;
	r->expected = expected;
	expected[r->n_expected++] = (struct tw_race_expected){pc, image};
	return 0;
}

/* Is it of such a load with an atomic access? */
static int is_expected(const struct tw_races *r, const struct tw_race *race)
{
	const int load = (race->access[0].flags & TW_EPOCH_ATOMIC) != 0; /* the other one */
	const struct tw_epoch_access *a = &race->access[load];
	size_t i = 0;
	while (i < r->n_expected && (r->expected[i].pc != a->pc || r->expected[i].image != race->image[load]))
		i++;
	return i < r->n_expected && !(a->flags & (TW_EPOCH_WRITE | TW_EPOCH_ATOMIC)) && race->access[!load].flags & TW_EPOCH_ATOMIC;
}

static void drop_expected(struct tw_races *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n; i++)
		if (!is_expected(r, &r->items[i]))
			r->items[n++] = r->items[i];
	r->n = n;
}

void tw_races_judge_unknown(struct tw_races *r, struct tw_atomics *atomics)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n; i++) {
		struct tw_race *race = &r->items[i];
		int known_atomic = 0;
		race->unknown = 0;
		for (int k = 0; k < 2; k++) {
			known_atomic |= race->access[k].flags & TW_EPOCH_ATOMIC;
			race->unknown |= !(race->access[k].flags & TW_EPOCH_ATOMIC) &&
			                 tw_atomics_may_be(atomics, race->image[k], race->access[k].pc, race->addr);
		}
		if (!race->unknown || !known_atomic)
			r->items[n++] = *race;
	}
	r->n = n;
}

/* The variable at an address, or the part of it; or the address. */
static void name_object(struct tw_names *names, uint32_t image, uint64_t addr, char *to, size_t size)
{
	if (!tw_names_variable(names, image, addr, to, size))
		snprintf(to, size, "0x%llx", (unsigned long long)addr);
}

static void name_locks(const struct tw_lockset *set, struct tw_names *names, uint32_t image, char *to, size_t size)
{
	size_t at = 0;
	char name[NAME];
	to[0] = 0;
	for (size_t i = 0; i < set->n && at < size; i++) {
		tw_held_name(names, image, set->addr[i], name, sizeof name);
		int n = snprintf(to + at, size - at, "%s%s", i ? " " : "", name);
		at += n > 0 ? (size_t)n : 0;
	}
}

struct print {
	struct tw_answer *answer;
	const struct tw_callpaths *paths;
	const struct tw_locksets *locks;
	struct tw_names *names;
	unsigned depth;
};

static void print_row(const struct print *p, size_t number, const struct tw_race *race, const char *part, uint32_t thread, uint64_t address,
                      const char *what)
{
	tw_answer_row(
	    p->answer,
	    (struct tw_cell[]){
	        {.count = number}, {.count = race->times}, {.text = part}, {.count = thread}, {.count = address}, {.text = what}});
}

static void print_access(const struct print *p, const struct tw_race *race, int i, size_t number)
{
	static const char *const kinds[] = {"read", "write", "atomic read", "atomic write"};
	const struct tw_epoch_access *x = &race->access[i];
	char text[TEXT], locks[TEXT];
	tw_callpath_access(p->paths, x->path, p->names, p->depth, race->image[i], x->pc, text, sizeof text);
	print_row(p, number, race, kinds[x->flags & (TW_EPOCH_WRITE | TW_EPOCH_ATOMIC)], race->serial[i], x->pc, text);
	if (!x->locks)
		return;
	name_locks(tw_locksets_get(p->locks, x->locks), p->names, race->image[i], locks, sizeof locks);
	print_row(p, number, race, "holding", race->serial[i], x->pc, locks);
}

void tw_races_print(struct tw_races *r, const struct tw_callpaths *paths, const struct tw_locksets *locks, struct tw_names *names,
                    unsigned depth)
{
	static const struct tw_column columns[] = {{"race", TW_COLUMN_COUNT},
	                                           {"times", TW_COLUMN_COUNT},
	                                           {"part", TW_COLUMN_TEXT},
	                                           {"thread", TW_COLUMN_COUNT},
	                                           {"address", TW_COLUMN_ADDRESS},
	                                           {"what", TW_COLUMN_TEXT},
	                                           {NULL, 0}};
	const struct print p = {tw_context_answer(r->context), paths, locks, names, depth};
	static const char may_be[] = "atomics may order it: record --order",
	                  no_source[] = "its source is not known: it may be atomic (compile with -g)";
	char object[NAME];
	size_t told = 0, possible = 0, in_go = 0;
	drop_expected(r);
	for (size_t i = 0; i < r->n; i++) {
		name_object(names, r->items[i].image[0], r->items[i].addr, object, sizeof object);
		if (r->items[i].times && is_go_runtimes(&r->items[i], names)) {
			in_go++;
			r->items[i].times = 0;
		} else if (is_suppressed(r, &r->items[i], paths, names, object)) {
			r->suppressed++;
			r->items[i].times = 0;
		}
		told += r->items[i].times != 0;
		possible += r->items[i].times && r->items[i].possible;
	}
	tw_answer_fact(p.answer, "found", told);
	tw_answer_fact(p.answer, "possible", possible);
	tw_answer_fact(p.answer, "suppressed", r->suppressed);
	if (in_go)
		tw_answer_fact(p.answer, "left_out_of_go_runtime", in_go);
	tw_answer_table(p.answer, "races", "Races: the data, and two accesses, the later one first", columns);
	told = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (!r->items[i].times)
			continue;
		name_object(names, r->items[i].image[0], r->items[i].addr, object, sizeof object);
		told++;
		print_row(&p, told, &r->items[i], "object", r->items[i].serial[0], r->items[i].addr, object);
		if (r->items[i].possible)
			print_row(&p, told, &r->items[i], "possible", r->items[i].serial[0], r->items[i].addr, may_be);
		if (r->items[i].unknown)
			print_row(&p, told, &r->items[i], "unknown", r->items[i].serial[0], r->items[i].addr, no_source);
		print_access(&p, &r->items[i], 0, told);
		print_access(&p, &r->items[i], 1, told);
	}
}

void tw_races_free(struct tw_races *r)
{
	for (size_t i = 0; i < r->n_rules; i++)
		free(r->rules[i]);
	free(r->rules);
	free(r->items);
	free(r->expected);
}
