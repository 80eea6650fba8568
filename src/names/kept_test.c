#include "names/kept.h"
#include "unit.h"

#include <stdlib.h>

/* A table with a little of everything. */
static void fill(struct tw_name_table *t)
{
	t->path = strdup("/bin/some program");
	t->has_lines = 1;
	t->why = TW_NAME_STRIPPED;
	uint32_t outer = tw_name_table_text(t, "outer"), inner = tw_name_table_text(t, "_Z5inneri"),
	         source = tw_name_table_text(t, "/src/a.c");
	tw_name_table_add(t, TW_NAME_FUNCTIONS, &(struct tw_name_function){0x1000, 0x1100, outer, 0});
	tw_name_table_add(t, TW_NAME_FUNCTIONS, &(struct tw_name_function){0x1040, 0x1050, inner, 0}); /* within the other */
	tw_name_table_add(t, TW_NAME_LINES, &(struct tw_name_line){0x1000, 0x1010, source, 12});
	tw_name_table_add(t, TW_NAME_LINES, &(struct tw_name_line){0xffffffff1000, 0xffffffff1010, source, 3});
	tw_name_table_add(t, TW_NAME_NODES, &(struct tw_name_node){inner, TW_NAME_NONE, source, 13});
	tw_name_table_add(t, TW_NAME_NODES, &(struct tw_name_node){outer, 0, TW_NAME_NONE, 0});
	tw_name_table_add(t, TW_NAME_INLINED, &(struct tw_name_inlined){0x1008, 0x100c, 1, 0});
	tw_name_table_add(t, TW_NAME_OBJECTS, &(struct tw_name_object){0x4000, 0x4010, source, 0});
	tw_name_table_add(t, TW_NAME_SEGMENTS, &(struct tw_name_segment){0x800, 0x1000, 0x1800, 0x2000, 5});
}

static void check_same(const struct tw_name_table *t)
{
	EQUAL(t->why, TW_NAME_STRIPPED);
	EQUAL(t->has_lines, 1);
	SAME_TEXT(t->path, "/bin/some program");
	const struct tw_name_function *f = tw_name_table_function(t, 0x10ff);
	CHECK(f && !strcmp(t->shown[f->name], "outer"));
	f = tw_name_table_function(t, 0x1045);
	CHECK(f && !strcmp(t->shown[f->name], "inner(int)"));
	CHECK(!tw_name_table_function(t, 0x1100));
	const struct tw_name_line *line = tw_name_table_line(t, 0xffffffff100f);
	CHECK(line && line->line == 3 && !strcmp(t->texts.items[line->source], "/src/a.c"));
	const struct tw_name_inlined *inlined = tw_name_table_inlined(t, 0x100b);
	CHECK(inlined && tw_name_table_node(t, inlined->node)->parent == 0);
	CHECK(tw_name_table_object(t, 0x400f) && !tw_name_table_object(t, 0x4010));
	EQUAL(tw_name_table_vaddr(t, 0x900), 0x1900);
	EQUAL(tw_name_table_vaddr(t, 0x1800), 0x1800);
}

/* Every cut and every wrong number is refused, and nothing is read beyond the end. */
static void check_damage(const uint8_t *bytes, size_t n)
{
	for (size_t cut = 0; cut < n; cut += 8) {
		uint8_t *part = malloc(cut + 1);
		struct tw_name_table t = {0};
		memcpy(part, bytes, cut);
		CHECK(tw_name_table_unpack(part, cut, &t) == TW_ERR_DAMAGED);
		tw_name_table_free(&t);
		free(part);
	}
	for (size_t at = 0; at < n; at++) {
		uint8_t *wrong = malloc(n);
		struct tw_name_table t = {0};
		memcpy(wrong, bytes, n);
		wrong[at] ^= 0x5a;
		int error = tw_name_table_unpack(wrong, n, &t);
		CHECK(error == TW_ERR_DAMAGED || !error);
		if (!error && tw_name_table_settle(&t, 0))
			tw_name_table_function(&t, 0x1045);
		tw_name_table_free(&t);
		free(wrong);
	}
}

int main(void)
{
	struct tw_name_table t = {0}, back = {0};
	size_t n;
	fill(&t);
	CHECK(tw_name_table_settle(&t, 0));
	check_same(&t);
	uint8_t *bytes = tw_name_table_pack(&t, &n);
	EQUAL(tw_name_table_unpack(bytes, n, &back), 0);
	CHECK(tw_name_table_settle(&back, 0));
	check_same(&back);
	check_damage(bytes, n);
	tw_name_table_free(&back);
	tw_name_table_free(&t);
	free(bytes);
	return UNIT_END();
}
