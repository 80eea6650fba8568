#include "names/go_table.h"

#include <gelf.h>
#include <string.h>

/* By which releases lay it out differently. */
enum magic { GO_1_16 = 0xfffffffau, GO_1_18 = 0xfffffff0u, GO_1_20 = 0xfffffff1u };

struct table {
	const uint8_t *at;
	size_t bytes;
	uint64_t text; /* addresses of functions count from here; 0: they are whole */
	size_t names, units, files, values, functions;
	uint64_t n_functions;
	unsigned word; /* bytes of an address in the list of functions: 4 or 8 */
};

/* Beyond the end all is 0. */
static uint64_t number(const struct table *t, size_t at, unsigned bytes)
{
	uint64_t n = 0;
	if (at < t->bytes && t->bytes - at >= bytes)
		memcpy(&n, t->at + at, bytes);
	return n;
}

static const char *text(const struct table *t, size_t at)
{
	return at < t->bytes && memchr(t->at + at, 0, t->bytes - at) ? (const char *)t->at + at : NULL;
}

/* ---- the header ---- */

static int find_section(Elf *elf, const char *wanted, GElf_Shdr *sh, Elf_Scn **out)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return 0;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		const char *name = gelf_getshdr(scn, sh) ? elf_strptr(elf, names, sh->sh_name) : NULL;
		*out = scn;
		if (name && !strcmp(name, wanted))
			return 1;
	}
	return 0;
}

static int open_table(struct table *t, Elf *elf)
{
	GElf_Shdr sh;
	Elf_Scn *scn;
	if (!find_section(elf, ".gopclntab", &sh, &scn) && !find_section(elf, ".data.rel.ro.gopclntab", &sh, &scn))
		return 0;
	const Elf_Data *data = sh.sh_type == SHT_NOBITS ? NULL : elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return 0;
	*t = (struct table){.at = data->d_buf, .bytes = data->d_size};
	const uint64_t magic = number(t, 0, 4), least = number(t, 6, 1), word = number(t, 7, 1);
	if ((magic != GO_1_16 && magic != GO_1_18 && magic != GO_1_20) || least != 1 || word != 8)
		return 0;
	const size_t offsets = magic == GO_1_16 ? 24 : 32;
	t->n_functions = number(t, 8, 8);
	t->word = magic == GO_1_16 ? 8 : 4;
	t->names = number(t, offsets, 8);
	t->units = number(t, offsets + 8, 8);
	t->files = number(t, offsets + 16, 8);
	t->values = number(t, offsets + 24, 8);
	t->functions = number(t, offsets + 32, 8);
	if (magic != GO_1_16)
		t->text = number(t, 24, 8);
	/* In position-independent programs, the dynamic linker fills it in. */
	if (magic != GO_1_16 && !t->text && find_section(elf, ".text", &sh, &scn))
		t->text = sh.sh_addr;
	return t->names < t->bytes && t->units < t->bytes && t->files < t->bytes && t->values < t->bytes && t->functions < t->bytes &&
	       t->n_functions < t->bytes / t->word;
}

/* ---- values by address ---- */

/* Values for ranges of a function's code: pairs of differences, of value and address. */
struct values {
	const struct table *table;
	size_t at;
	int64_t value;
	uint64_t end; /* where the value ends to hold */
	int any;
};

static uint32_t take_varint(struct values *v)
{
	uint32_t n = 0;
	for (unsigned shift = 0; shift < 32; shift += 7) {
		const uint32_t byte = (uint32_t)number(v->table, v->at++, 1);
		n |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return n;
}

static struct values values_at(const struct table *t, uint64_t offset, uint64_t start)
{
	return (struct values){.table = t, .at = t->values + offset, .value = -1, .end = start};
}

/* The next range. 0: there is none. */
static int next_value(struct values *v)
{
	const uint32_t change = take_varint(v);
	if (v->at >= v->table->bytes || (!change && v->any))
		return 0;
	v->any = 1;
	v->value += change & 1 ? -(int64_t)(change >> 1) - 1 : (int64_t)(change >> 1);
	v->end += take_varint(v);
	return 1;
}

/* ---- functions ---- */

struct function {
	uint64_t start, end;
	size_t at; /* what the table has of it, behind its address */
};

static const char *file_name(const struct table *t, const struct function *f, int64_t file)
{
	const uint64_t unit = number(t, f->at + 28, 4);
	const uint64_t offset = file < 0 ? UINT32_MAX : number(t, t->units + 4 * (unit + (uint64_t)file), 4);
	return offset == UINT32_MAX ? NULL : text(t, t->files + offset);
}

static int visit_lines(const struct table *t, const struct function *f, const struct tw_go_visitor *v)
{
	struct values files = values_at(t, number(t, f->at + 16, 4), f->start), lines = values_at(t, number(t, f->at + 20, 4), f->start);
	uint64_t at = f->start;
	int more = next_value(&files) && next_value(&lines);
	while (more && at < f->end) {
		uint64_t end = files.end < lines.end ? files.end : lines.end;
		end = end < f->end ? end : f->end;
		const char *file = file_name(t, f, files.value);
		if (file && lines.value > 0 && at < end && !v->line(v->context, at, end, file, (uint32_t)lines.value))
			return 0;
		at = end;
		more = (files.end > at || next_value(&files)) && (lines.end > at || next_value(&lines));
	}
	return 1;
}

static int visit_function(const struct table *t, uint64_t i, const struct tw_go_visitor *v)
{
	const size_t entry = t->functions + 2 * t->word * i;
	const uint64_t offset = number(t, entry + t->word, t->word);
	const struct function f = {
	    .start = t->text + number(t, entry, t->word),
	    .end = t->text + number(t, entry + 2 * t->word, t->word),
	    .at = t->functions + offset + t->word,
	};
	const char *name = text(t, t->names + number(t, f.at, 4));
	if (f.start >= f.end || !name || !*name)
		return 1;
	return (!v->function || v->function(v->context, f.start, f.end, name)) && (!v->line || visit_lines(t, &f, v));
}

int tw_go_visit(Elf *elf, const struct tw_go_visitor *v)
{
	struct table t;
	if (!open_table(&t, elf))
		return 1;
	for (uint64_t i = 0; i < t.n_functions; i++)
		if (!visit_function(&t, i, v))
			return 0;
	return 1;
}
