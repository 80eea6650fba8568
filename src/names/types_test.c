/* Parts of variables of this very program, by name and by offset, as the compiler describes them. */
#include "names/dwarf_file.h"
#include "names/types.h"
#include "unit.h"

#include <stdlib.h>

struct point {
	int x, y;
};

typedef struct point places[2][3];

struct base {
	char tag;
	union {
		long whole;
		char bytes[8];
	};
	struct {
		short low, high;
	} half;
	unsigned few : 3, more : 11, all : 18;
	const volatile struct point *to;
	places table;
	long __kept; /* what users do not write */
	double last[];
};

struct base everything[4] = {{.tag = 1}};
static volatile struct point alone = {1, 2};
static volatile int number = 3, row[5];
_Thread_local struct base own[2];
static _Thread_local volatile struct point mine;

#define AT(member) (sizeof(struct base) + offsetof(struct base, member))

/* A variable by its symbol. */
static struct tw_typed variable(Dwfl_Module *module, GElf_Addr bias, const char *wanted)
{
	GElf_Addr address;
	GElf_Sym sym;
	for (int i = 1; i < dwfl_module_getsymtab(module); i++) {
		const char *name = dwfl_module_getsym_info(module, i, &sym, &address, NULL, NULL, NULL);
		if (name && !strcmp(name, wanted))
			return GELF_ST_TYPE(sym.st_info) == STT_TLS ? (struct tw_typed){sym.st_value, 1}
			                                            : (struct tw_typed){address - bias, 0};
	}
	CHECK(!"the variable has a symbol");
	return (struct tw_typed){0, 0};
}

static const struct tw_types *types;
static char text[100];

static const char *name(struct tw_typed v, uint64_t offset)
{
	tw_types_name(types, v, offset, text, sizeof text);
	return text;
}

/* A part has this offset, so many bytes, and at its beginning this name again. */
static void check_part(struct tw_typed v, const char *path, uint64_t offset, uint64_t bytes, const char *again)
{
	struct tw_type_part part = {0};
	CHECK(tw_types_find(types, v, path, &part, text, sizeof text));
	EQUAL(part.offset, offset);
	EQUAL(part.bytes, bytes);
	SAME_TEXT(name(v, offset), again);
}

static void check_none(struct tw_typed v, const char *path, const char *why)
{
	struct tw_type_part part;
	CHECK(!tw_types_find(types, v, path, &part, text, sizeof text));
	SAME_TEXT(text, why);
}

static void check_members(struct tw_typed v)
{
	check_part(v, "[1].tag", AT(tag), 1, "[1].tag");
	check_part(v, "[1].whole", AT(whole), 8, "[1].whole");
	check_part(v, "[1].bytes[3]", AT(bytes[3]), 1, "[1].bytes[3]");
	check_part(v, "[1].half", AT(half), 4, "[1].half.low");
	check_part(v, "[1].half.high", AT(half.high), 2, "[1].half.high");
	check_part(v, "[1].to", AT(to), 8, "[1].to");
	check_part(v, "[1].table", AT(table), sizeof(places), "[1].table[0][0].x");
	check_part(v, "[1].table[1]", AT(table[1]), 3 * sizeof(struct point), "[1].table[1][0].x");
	check_part(v, "[1].table[1][2].y", AT(table[1][2].y), 4, "[1].table[1][2].y");
	check_part(v, "[0]", 0, sizeof(struct base), "[0].tag");
	SAME_TEXT(name(v, AT(tag) + 1), "[1]+1"); /* padding */
	SAME_TEXT(name(v, AT(__kept)), "[1]+80");
	SAME_TEXT(name(v, AT(__kept) + 2), "[1]+82");
}

/* Bit-fields begin behind `half`; the second one begins within a byte. */
static void check_bits(struct tw_typed v)
{
	check_part(v, "[1].few", AT(half) + 4, 1, "[1].few");
	check_part(v, "[1].more", AT(half) + 4, 2, "[1].few");
	check_part(v, "[1].all", AT(half) + 5, 3, "[1].more");
	SAME_TEXT(name(v, AT(half) + 6), "[1].all");
	check_none(v, "[1].few.x", "unsigned int has no member 'x'");
}

static void check_wrong(struct tw_typed v)
{
	check_none(v, "[1].tog", "struct base has no member 'tog'");
	check_none(v, "[1].tag.x", "char has no member 'x'");
	check_none(v, "[1].to.x", "a pointer has no member 'x'");
	check_none(v, "[1].", "struct base has no member ''");
	check_none(v, ".tag", "an array has no member 'tag'");
	check_none(v, "[4]", "there are 4 elements, and '[4]' is none of them");
	check_none(v, "[-1]", "there are 4 elements, and '[-1]' is none of them");
	check_none(v, "[1", "there are 4 elements, and '[1' is none of them");
	check_none(v, "[1].tag[0]", "what '[0]' is of is no array");
	check_none(v, "[1]x", "'x' is no member or element");
	check_none((struct tw_typed){v.at + 1, v.is_own}, "[1]",
	           "its type is not known (compile with -g, or install the file's debug package)");
}

/* Whatever room there is. */
static void check_cut(struct tw_typed v)
{
	for (size_t size = 1; size < 20; size++) {
		char cut[21];
		memset(cut, 'x', sizeof cut);
		tw_types_name(types, v, AT(table[1][2].y), cut, size);
		CHECK(strlen(cut) < size && !strncmp(cut, "[1].table[1][2].y", strlen(cut)) && cut[size] == 'x');
	}
}

int main(void)
{
	struct tw_dwarf_file self;
	GElf_Addr bias;
	tw_dwarf_file_open(&self, "/proc/self/exe");
	Dwfl_Module *module = self.module;
	dwfl_module_getelf(module, &bias);
	struct tw_types *t = tw_types_new(module, bias);
	types = t;
	CHECK(t != NULL);
	everything[1].tag = (char)(alone.x + number + row[1] + own[1].tag + mine.x);
	check_members(variable(module, bias, "everything"));
	check_members(variable(module, bias, "own"));
	check_bits(variable(module, bias, "everything"));
	check_wrong(variable(module, bias, "everything"));
	check_cut(variable(module, bias, "everything"));
	check_part(variable(module, bias, "alone"), ".y", 4, 4, ".y");
	check_part(variable(module, bias, "mine"), ".x", 0, 4, ".x");
	check_part(variable(module, bias, "row"), "[4]", 16, 4, "[4]");
	SAME_TEXT(name(variable(module, bias, "number"), 0), "");
	SAME_TEXT(name(variable(module, bias, "number"), 2), "+2");
	SAME_TEXT(name((struct tw_typed){1, 0}, 7), "+7");
	types = NULL;
	SAME_TEXT(name((struct tw_typed){1, 0}, 0), "");
	tw_types_free(t);
	tw_dwarf_file_close(&self);
	return UNIT_END();
}
