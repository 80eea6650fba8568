/* A tree whose items have other numbers is printed as the same. */
#include "analyzers/flame.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS = 5 };

/* main calls a and b, which calls c; where[i]: the number of item i. */
static char *print(const uint32_t *where, int (*form)(FILE *f, const struct tw_context_tree *t))
{
	static const struct tw_context_function all[ITEMS] = {
	    {.all = {.insns = 100}},
	    {.name = "main", .module = "program", .parent = 0, .own = {.insns = 10}, .all = {.insns = 100}},
	    {.name = "a", .module = "program", .parent = 1, .own = {.insns = 30}, .all = {.insns = 30}},
	    {.name = "b", .module = "library", .parent = 1, .own = {.insns = 20}, .all = {.insns = 60}},
	    {.name = "c", .module = "library", .parent = 3, .own = {.insns = 40}, .all = {.insns = 40}},
	};
	struct tw_context_function items[ITEMS];
	const struct tw_context_tree t = {.items = items, .n = ITEMS};
	char *text = NULL;
	size_t n;
	for (int i = 0; i < ITEMS; i++) {
		items[where[i]] = all[i];
		items[where[i]].parent = where[all[i].parent];
	}
	FILE *f = open_memstream(&text, &n);
	EQUAL(form(f, &t), 0);
	fclose(f);
	return text;
}

static void compare(int (*form)(FILE *f, const struct tw_context_tree *t))
{
	char *one = print((const uint32_t[]){0, 1, 2, 3, 4}, form), *other = print((const uint32_t[]){0, 1, 4, 2, 3}, form);
	SAME_TEXT(one, other);
	CHECK(strstr(one, "main") != NULL);
	free(one);
	free(other);
}

int main(void)
{
	compare(tw_flame_folded);
	compare(tw_flame_speedscope);
	compare(tw_flame_svg);
	return UNIT_END();
}
