#include "names/types.h"
#include "base/array.h"

#include <ctype.h>
#include <dwarf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
	struct tw_typed variable;
	Dwarf_Die type;
};

struct tw_types {
	struct item *items; /* by variable, each once */
	size_t n, room;
	uint64_t shift; /* from an address in the debug information to the file's own */
	int ok;
};

/* ---- variables ---- */

/* Where a variable stands, if that is a fixed place. */
static int place_of(Dwarf_Die *die, struct tw_typed *out)
{
	Dwarf_Attribute attribute, address;
	Dwarf_Op *op;
	size_t n;
	Dwarf_Addr at;
	Dwarf_Word number;
	if (dwarf_getlocation(dwarf_attr(die, DW_AT_location, &attribute), &op, &n) || !n)
		return 0;
	out->is_own = n == 2 && (op[1].atom == DW_OP_form_tls_address || op[1].atom == DW_OP_GNU_push_tls_address);
	if (n != 1 + out->is_own)
		return 0;
	const int is_indexed = dwarf_getlocation_attr(&attribute, op, &address) == 0; /* in a table of addresses or constants */
	if (is_indexed && dwarf_formaddr(&address, &at) == 0)
		out->at = at;
	else if (is_indexed && dwarf_formudata(&address, &number) == 0)
		out->at = number;
	else if (op->atom == DW_OP_addr || (out->is_own && (op->atom == DW_OP_const8u || op->atom == DW_OP_const4u)))
		out->at = op->number;
	else
		return 0;
	return 1;
}

static int type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) != NULL;
}

static void add_variable(struct tw_types *t, Dwarf_Die *die)
{
	struct item item;
	if (!place_of(die, &item.variable) || !type_of(die, &item.type))
		return;
	item.variable.at += item.variable.is_own ? 0 : t->shift;
	struct item *items = tw_array_room(t->items, t->n, &t->room, sizeof *items);
	t->ok &= items != NULL;
	if (!items)
		return;
	t->items = items;
	t->items[t->n++] = item;
}

/* Static variables stand in units, namespaces, modules, and anywhere in functions. */
static int has_variables(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_common_block:
		return 1;
	default:
		return 0;
	}
}

static void visit(struct tw_types *t, Dwarf_Die *parent)
{
	Dwarf_Die die;
	if (dwarf_child(parent, &die))
		return;
	do {
		const int tag = dwarf_tag(&die);
		if (tag == DW_TAG_variable)
			add_variable(t, &die);
		else if (has_variables(tag))
			visit(t, &die);
	} while (t->ok && dwarf_siblingof(&die, &die) == 0);
}

static int by_variable(const void *a, const void *b)
{
	const struct tw_typed *x = &((const struct item *)a)->variable, *y = &((const struct item *)b)->variable;
	if (x->is_own != y->is_own)
		return x->is_own < y->is_own ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* If several units describe a variable, its types are the same. */
static void sort(struct tw_types *t)
{
	size_t n = 0;
	if (t->n)
		qsort(t->items, t->n, sizeof *t->items, by_variable);
	for (size_t i = 0; i < t->n; i++)
		if (!n || by_variable(&t->items[n - 1], &t->items[i]))
			t->items[n++] = t->items[i];
	t->n = n;
}

struct tw_types *tw_types_new(Dwfl_Module *module, uint64_t bias)
{
	Dwarf_Addr dwarf_bias;
	Dwarf *dwarf = dwfl_module_getdwarf(module, &dwarf_bias);
	struct tw_types *t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	t->shift = dwarf_bias - bias;
	t->ok = 1;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t kind;
	while (dwarf && t->ok && dwarf_get_units(dwarf, unit, &unit, NULL, &kind, &die, &split) == 0)
		visit(t, kind == DW_UT_skeleton && split.addr ? &split : &die);
	sort(t);
	if (t->ok)
		return t;
	tw_types_free(t);
	return NULL;
}

void tw_types_free(struct tw_types *t)
{
	free(t ? t->items : NULL);
	free(t);
}

static const Dwarf_Die *find(const struct tw_types *t, struct tw_typed variable)
{
	const struct item key = {.variable = variable};
	const size_t i = tw_array_before(&key, t->items, t->n, sizeof key, by_variable);
	return i < t->n && !by_variable(&key, &t->items[i]) ? &t->items[i].type : NULL;
}

/* ---- parts ---- */

/* A part of a variable: an element or a member, or a part of one. */
struct part {
	Dwarf_Die type;
	uint64_t offset;  /* in the variable */
	uint64_t bytes;   /* 0: not known */
	const char *name; /* of a member, as users write it; "": it has none */
	int is_last;      /* it has no parts of a type: a bit-field */
};

static uint64_t bytes_of(Dwarf_Die *type)
{
	Dwarf_Word bytes;
	return dwarf_aggregate_size(type, &bytes) ? 0 : bytes;
}

static uint64_t number_of(Dwarf_Die *die, unsigned name, uint64_t otherwise)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	return dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &value) ? otherwise : value;
}

/* Offset of a member in its structure; older compilers give it as an expression. */
static uint64_t member_offset(Dwarf_Die *member)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *op;
	size_t n;
	const uint64_t bits = number_of(member, DW_AT_data_bit_offset, UINT64_MAX);
	if (bits != UINT64_MAX)
		return bits / 8;
	const uint64_t offset = number_of(member, DW_AT_data_member_location, UINT64_MAX);
	if (offset != UINT64_MAX)
		return offset;
	if (dwarf_getlocation(dwarf_attr(member, DW_AT_data_member_location, &attribute), &op, &n) == 0 && n == 1 &&
	    op->atom == DW_OP_plus_uconst)
		return op->number;
	return 0;
}

/* A member's name: Rust calls those of tuples __0, __1 and so on. */
static const char *name_of(Dwarf_Die *member)
{
	const char *name = dwarf_tag(member) == DW_TAG_member ? dwarf_diename(member) : NULL;
	const int is_of_tuple = name && !strncmp(name, "__", 2) && isdigit((unsigned char)name[2]);
	return !name ? "" : is_of_tuple ? name + 2 : name;
}

/* The part described by a DIE within a structure. 0: none. */
static int read_member(Dwarf_Die *die, const struct part *whole, struct part *out)
{
	const int tag = dwarf_tag(die);
	if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || !type_of(die, &out->type))
		return 0;
	const uint64_t bits = number_of(die, DW_AT_bit_size, 0), first = number_of(die, DW_AT_data_bit_offset, 0) % 8;
	out->offset = whole->offset + member_offset(die);
	out->is_last = bits != 0;
	out->bytes = bits ? (first + bits + 7) / 8 : bytes_of(&out->type);
	out->name = name_of(die);
	return !dwarf_hasattr(die, DW_AT_external) && !dwarf_hasattr(die, DW_AT_declaration); /* a class's static members stand elsewhere */
}

static int is_structure(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static int has_parts(const struct part *p)
{
	Dwarf_Die type = p->type, bare;
	return !p->is_last && dwarf_peel_type(&type, &bare) == 0 &&
	       (is_structure(dwarf_tag(&bare)) || dwarf_tag(&bare) == DW_TAG_array_type);
}

/*
 * Whether the second of two members that cover an offset describes it better: the first has no size (an array at the
 * end), or the offset is within a scalar.
 */
static int is_better(const struct part *first, const struct part *second, uint64_t offset)
{
	return !first->bytes || (first->offset < offset && !has_parts(first) && has_parts(second));
}

/* The member that covers an offset; in a union, the first that describes it. */
static int member_at(const struct part *whole, Dwarf_Die *type, uint64_t offset, struct part *out)
{
	Dwarf_Die die;
	struct part member = {0};
	int found = 0;
	if (dwarf_child(type, &die))
		return 0;
	do {
		if (!read_member(&die, whole, &member) || offset < member.offset ||
		    (member.bytes && offset - member.offset >= member.bytes))
			continue;
		if (!found || is_better(out, &member, offset))
			*out = member;
		found = 1;
	} while (dwarf_siblingof(&die, &die) == 0);
	return found;
}

/* Elements of the array's next dimension: their number, 0 if unknown, and their size. 0: no such array. */
static int elements(Dwarf_Die *array, unsigned dimension, uint64_t *n, uint64_t *bytes)
{
	Dwarf_Die die, element;
	unsigned k = 0;
	if (!type_of(array, &element) || !(*bytes = bytes_of(&element)) || dwarf_child(array, &die))
		return 0;
	do {
		if (dwarf_tag(&die) != DW_TAG_subrange_type)
			continue;
		const uint64_t last = number_of(&die, DW_AT_upper_bound, UINT64_MAX), first = number_of(&die, DW_AT_lower_bound, 0);
		const uint64_t count = number_of(&die, DW_AT_count, last - first + 1);
		if (k == dimension)
			*n = count;
		else if (k > dimension)
			*bytes *= count;
		k++;
	} while (dwarf_siblingof(&die, &die) == 0);
	return dimension < k && *bytes;
}

/* ---- from an offset to a name ---- */

struct writer {
	char *text;
	size_t size, n;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const int n = w->n < w->size ? vsnprintf(w->text + w->n, w->size - w->n, format, args) : 0;
	va_end(args);
	w->n += n > 0 ? (size_t)n : 0;
}

/* Names reserved for C and C++ implementations. */
static int is_reserved(const char *name)
{
	return name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
}

/* One step into an array: all its dimensions. */
static int enter_array(struct part *p, Dwarf_Die *array, uint64_t offset, struct writer *w)
{
	uint64_t n, bytes;
	Dwarf_Die element;
	unsigned dimension = 0;
	for (; elements(array, dimension, &n, &bytes); dimension++) {
		const uint64_t index = (offset - p->offset) / bytes;
		put(w, "[%" PRIu64 "]", index);
		p->offset += index * bytes;
	}
	if (!dimension || !type_of(array, &element))
		return 0;
	p->type = element;
	p->bytes = bytes_of(&element);
	return 1;
}

static int enter_structure(struct part *p, Dwarf_Die *type, uint64_t offset, struct writer *w)
{
	struct part member = {0};
	if (!member_at(p, type, offset, &member) || is_reserved(member.name))
		return 0;
	*p = member;
	if (*p->name)
		put(w, ".%s", p->name);
	return 1;
}

uint64_t tw_types_name(const struct tw_types *t, struct tw_typed variable, uint64_t offset, char *text, size_t size)
{
	enum { DEEPEST = 64 };
	const Dwarf_Die *type = t ? find(t, variable) : NULL;
	struct part p = {0};
	struct writer w = {text, size, 0};
	Dwarf_Die bare;
	int more = type != NULL;
	text[0] = 0;
	if (type) {
		p.type = *type;
		p.bytes = bytes_of(&p.type);
	}
	for (unsigned depth = 0; more && depth < DEEPEST && !p.is_last && dwarf_peel_type(&p.type, &bare) == 0; depth++) {
		const int tag = dwarf_tag(&bare);
		more = tag == DW_TAG_array_type ? enter_array(&p, &bare, offset, &w)
		                                : is_structure(tag) && enter_structure(&p, &bare, offset, &w);
	}
	if (offset > p.offset && !p.is_last)
		put(&w, "+%" PRIu64, offset - p.offset);
	return offset - p.offset < p.bytes ? p.offset + p.bytes - offset : 0;
}

/* ---- from a name to an offset ---- */

struct search {
	struct part part; /* found up to now */
	const char *rest; /* of the path */
	char *why;
	size_t size;
};

/* A member of this name, also within an unnamed member or a base. */
static int member_named(const struct part *whole, Dwarf_Die *type, const char *name, size_t n, struct part *out)
{
	Dwarf_Die die, bare;
	struct part member = {0};
	if (!is_structure(dwarf_tag(type)) || dwarf_child(type, &die))
		return 0;
	do {
		if (!read_member(&die, whole, &member))
			continue;
		if (!*member.name && dwarf_peel_type(&member.type, &bare) == 0 && member_named(&member, &bare, name, n, out))
			return 1;
		if (strlen(member.name) != n || strncmp(member.name, name, n) != 0)
			continue;
		*out = member;
		return 1;
	} while (dwarf_siblingof(&die, &die) == 0);
	return 0;
}

/* What a type is called in a sentence: "struct list", "a pointer". */
static void describe(Dwarf_Die *type, char *text, size_t size)
{
	const char *name = dwarf_diename(type), *kind = "", *nameless = "what it is";
	switch (dwarf_tag(type)) {
	case DW_TAG_structure_type:
		kind = "struct ", nameless = "a structure without a name";
		break;
	case DW_TAG_union_type:
		kind = "union ", nameless = "a union without a name";
		break;
	case DW_TAG_pointer_type:
		nameless = "a pointer";
		break;
	case DW_TAG_array_type:
		nameless = "an array";
		break;
	default:
		break;
	}
	snprintf(text, size, "%s%s", name ? kind : "", name ? name : nameless);
}

static int find_member(struct search *s)
{
	Dwarf_Die bare;
	const size_t n = strcspn(++s->rest, ".[");
	struct part member = {0};
	if (dwarf_peel_type(&s->part.type, &bare))
		return 0;
	if (!n || s->part.is_last || !member_named(&s->part, &bare, s->rest, n, &member)) {
		char what[120];
		describe(&bare, what, sizeof what);
		snprintf(s->why, s->size, "%s has no member '%.*s'", what, (int)n, s->rest);
		return 0;
	}
	s->part = member;
	s->rest += n;
	return 1;
}

/* [3], of one dimension after another. */
static int find_element(struct search *s)
{
	Dwarf_Die bare, element;
	uint64_t n, bytes;
	unsigned dimension = 0;
	if (dwarf_peel_type(&s->part.type, &bare) || dwarf_tag(&bare) != DW_TAG_array_type || !type_of(&bare, &element)) {
		snprintf(s->why, s->size, "what '%s' is of is no array", s->rest);
		return 0;
	}
	for (; *s->rest == '[' && elements(&bare, dimension, &n, &bytes); dimension++) {
		char *end;
		const uint64_t index = strtoull(s->rest + 1, &end, 0);
		if (!isdigit((unsigned char)s->rest[1]) || *end != ']' || (n && index >= n)) {
			snprintf(s->why, s->size, "there are %" PRIu64 " elements, and '%.*s' is none of them", n,
			         (int)(end - s->rest + (*end == ']')), s->rest);
			return 0;
		}
		s->part.offset += index * bytes;
		s->part.bytes = bytes;
		s->rest = end + 1;
	}
	if (elements(&bare, dimension, &n, &bytes))
		return dimension && !*s->rest; /* a row of a table is all that is wanted */
	s->part.type = element;
	return dimension != 0;
}

int tw_types_find(const struct tw_types *t, struct tw_typed variable, const char *path, struct tw_type_part *out, char *why, size_t size)
{
	const Dwarf_Die *type = t ? find(t, variable) : NULL;
	struct search s = {.rest = path, .why = why, .size = size};
	snprintf(why, size, "its type is not known (compile with -g, or install the file's debug package)");
	if (!type)
		return 0;
	s.part.type = *type;
	s.part.bytes = bytes_of(&s.part.type);
	while (*s.rest) {
		snprintf(why, size, "'%s' is no member or element", s.rest);
		if (!(*s.rest == '.' ? find_member(&s) : *s.rest == '[' && find_element(&s)))
			return 0;
	}
	*out = (struct tw_type_part){s.part.offset, s.part.bytes ? s.part.bytes : 1};
	return 1;
}
