#include "names/file_names.h"
#include "unit.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Functions 0x1000 to 0x3000, a line each 16 bytes; what is inlined is within another inlined function. */
static struct tw_file_names *make(void)
{
	struct tw_name_table t = {0};
	struct tw_ran_list known = {0};
	uint32_t outer = tw_name_table_text(&t, "outer"), inner = tw_name_table_text(&t, "inner"),
	         source = tw_name_table_text(&t, "/src/a.c"), unused = tw_name_table_text(&t, "never");
	t.has_lines = 1;
	tw_name_table_add(&t, TW_NAME_FUNCTIONS, &(struct tw_name_function){0x1000, 0x2000, outer, 0});
	tw_name_table_add(&t, TW_NAME_FUNCTIONS, &(struct tw_name_function){0x1800, 0x1810, inner, 0});
	tw_name_table_add(&t, TW_NAME_FUNCTIONS, &(struct tw_name_function){0x2000, 0x3000, unused, 0});
	for (uint32_t i = 0x200; i-- > 0;)
		tw_name_table_add(&t, TW_NAME_LINES, &(struct tw_name_line){0x1000 + 16 * i, 0x1010 + 16 * i, source, i});
	tw_name_table_add(&t, TW_NAME_NODES, &(struct tw_name_node){unused, TW_NAME_NONE, source, 1});
	tw_name_table_add(&t, TW_NAME_NODES, &(struct tw_name_node){outer, TW_NAME_NONE, source, 7});
	tw_name_table_add(&t, TW_NAME_NODES, &(struct tw_name_node){inner, 1, TW_NAME_NONE, 0});
	tw_name_table_add(&t, TW_NAME_INLINED, &(struct tw_name_inlined){0x2100, 0x2110, 0, 0});
	tw_name_table_add(&t, TW_NAME_INLINED, &(struct tw_name_inlined){0x1100, 0x1110, 2, 0});
	tw_name_table_add(&t, TW_NAME_OBJECTS, &(struct tw_name_object){0x4000, 0x4010, source, 0});
	tw_name_table_add(&t, TW_NAME_SEGMENTS, &(struct tw_name_segment){0x800, 0x1000, 0x1800, 0x2000, 5});
	tw_ran_add(&known, 0x1000, 0x2000);
	struct tw_file_names *f = tw_file_names_new(&t, &known);
	tw_name_table_free(&t);
	free(known.pieces);
	return f;
}

static void check_part(const struct tw_file_names *f)
{
	struct tw_ran_list ran = {0}, wanted = {0}, missing = {0};
	struct tw_name_table t = {0};
	tw_ran_add(&ran, 0x1100, 0x1108);
	tw_ran_add(&ran, 0x1804, 0x1824);
	tw_ran_add(&ran, 0x1ff8, 0x2004);
	CHECK(tw_file_names_wanted(f, &ran, &wanted));
	EQUAL(wanted.n, 5); /* and the beginnings of both functions */
	CHECK(tw_file_names_missing(f, &wanted, &missing));
	EQUAL(missing.n, 1);
	EQUAL(missing.pieces[0].start, 0x2000);
	EQUAL(missing.pieces[0].end, 0x2004);
	CHECK(tw_file_names_extract(f, &ran, &wanted, &t) && tw_name_table_settle(&t, 0));
	EQUAL(t.items[TW_NAME_FUNCTIONS].n, 2);
	EQUAL(t.items[TW_NAME_LINES].n, 7);
	EQUAL(t.items[TW_NAME_NODES].n, 2);
	EQUAL(t.texts.n, 3);
	const struct tw_name_function *function = tw_name_table_function(&t, 0x1804);
	CHECK(function && !strcmp(t.texts.items[function->name], "inner"));
	const struct tw_name_inlined *inlined = tw_name_table_inlined(&t, 0x1100);
	const struct tw_name_node *node = inlined ? tw_name_table_node(&t, inlined->node) : NULL;
	CHECK(node && !strcmp(t.texts.items[node->name], "inner") &&
	      !strcmp(t.texts.items[tw_name_table_node(&t, node->parent)->name], "outer"));
	const struct tw_name_line *line = tw_name_table_line(&t, 0x1820);
	CHECK(line && line->line == 0x82);
	CHECK(!tw_name_table_line(&t, 0x1830) && !tw_name_table_inlined(&t, 0x2100));
	CHECK(tw_name_table_object(&t, 0x400f) != NULL);
	EQUAL(tw_name_table_vaddr(&t, 0x900), 0x1900);
	const struct tw_module m = {.address = 0x7f0000001000, .length = 0x1000, .prot = PROT_READ | PROT_EXEC};
	EQUAL(tw_name_table_shift(&t, &m), 0x7f0000001000 - 0x1000); /* its page 0 is that of the segment at 0x800 */
	EQUAL(t.why, TW_NAME_FINE);
	tw_name_table_free(&t);
	free(ran.pieces);
	free(wanted.pieces);
	free(missing.pieces);
}

/* Code in no function is reported, and the function before it is kept: such code may begin where that ends. */
static void check_stripped(const struct tw_file_names *f)
{
	struct tw_ran_list ran = {0}, wanted = {0};
	struct tw_name_table t = {0};
	tw_ran_add(&ran, 0x3000, 0x3004);
	CHECK(tw_file_names_wanted(f, &ran, &wanted) && tw_file_names_extract(f, &ran, &wanted, &t));
	EQUAL(t.why, TW_NAME_STRIPPED);
	EQUAL(t.items[TW_NAME_FUNCTIONS].n, 1);
	CHECK(tw_name_table_settle(&t, 0) && !tw_name_table_function(&t, 0x3000) && tw_name_table_gap(&t, 0x3000) > 0);
	CHECK(tw_name_table_gap(&t, 0x3000) <= 0x3000);
	tw_name_table_free(&t);
	free(ran.pieces);
	free(wanted.pieces);
}

/* All of it, as it was. */
static void check_unpacked(const struct tw_file_names *f)
{
	struct tw_name_table t = {0};
	struct tw_ran_list known = {0};
	CHECK(tw_file_names_unpack(f, &t) && tw_file_names_known(f, &known));
	struct tw_file_names *again = tw_file_names_new(&t, &known);
	CHECK(again && again->bytes == f->bytes && !memcmp(again, f, f->bytes));
	free(again);
	free(known.pieces);
	tw_name_table_free(&t);
}

/* A wrong number is refused, or leads nowhere outside. */
static void check_damage(const struct tw_file_names *f)
{
	for (size_t cut = 0; cut < f->bytes; cut += 8) {
		uint8_t *part = malloc(cut + 1);
		memcpy(part, f, cut);
		CHECK(!tw_file_names_are_sound((const struct tw_file_names *)part, cut));
		free(part);
	}
	for (size_t at = 0; at < f->bytes; at++) {
		struct tw_file_names *wrong = malloc(f->bytes);
		memcpy(wrong, f, f->bytes);
		((uint8_t *)wrong)[at] ^= 0xa5;
		if (tw_file_names_are_sound(wrong, f->bytes)) {
			struct tw_name_table t = {0};
			tw_file_names_unpack(wrong, &t);
			tw_name_table_free(&t);
		}
		free(wrong);
	}
}

int main(void)
{
	struct tw_file_names *f = make();
	CHECK(f && tw_file_names_are_sound(f, f->bytes));
	check_part(f);
	check_stripped(f);
	check_unpacked(f);
	check_damage(f);
	free(f);
	return UNIT_END();
}
