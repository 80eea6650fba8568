#include "channel/descriptor_tables.h"
#include "channel/output_write.h"
#include "channel/clear.h"
#include "base/array.h"
#include "base/zeros.h"
#include "recording/recording.h"
#include "recording/value_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PARTS = TW_DESCRIPTOR_TABLE_BYTES / TW_PART_BYTES };
enum { MOST_BASES = 64 }; /* in a row: longer than any that is made */

struct table {
	uint8_t *part[PARTS]; /* mapped when there is something in it */
	uint64_t taken;       /* bytes, from the start of the table */
	uint64_t described;   /* bytes of descriptors among them */
	int damaged;          /* nothing more is taken */
	uint32_t base;        /* the table with the descriptors that its program began with, or 0 */
	uint64_t put;         /* while it is ending: jobs that had been put */
	uint32_t *stretches;  /* of numbers: the first one of each */
	size_t n_stretches, stretches_room;
	const struct tw_descriptor **entry; /* of tallies: the path each is of, by number; 0 is none's */
	size_t n_entries, entries_room;
	struct tw_value_family values;
};

struct tw_descriptor_tables {
	struct tw_tables_options options;
	uint64_t fragments;
	uint32_t n_used;                          /* the highest that something has been taken of */
	struct table table[TW_DESCRIPTOR_TABLES]; /* from table 1 */
};

struct tw_descriptor_tables *tw_tables_new(const struct tw_tables_options *options)
{
	struct tw_descriptor_tables *r = tw_zeros_new(sizeof *r);
	if (r)
		r->options = *options;
	return r;
}

static void empty_table(struct table *table)
{
	for (unsigned i = 0; i < PARTS && table->part[i]; i++)
		munmap(table->part[i], TW_PART_BYTES);
	free(table->stretches);
	free(table->entry);
	tw_value_family_forget(&table->values);
	*table = (struct table){0};
}

void tw_tables_free(struct tw_descriptor_tables *r)
{
	for (uint32_t i = 0; r && i < r->n_used; i++)
		empty_table(&r->table[i]);
	tw_zeros_free(r, sizeof *r);
}

uint64_t tw_tables_fragments(const struct tw_descriptor_tables *r)
{
	return r->fragments;
}

/* ---- taking ---- */

/* From an address on at which it can be in huge pages. */
static void *map_part(int fd, off_t from)
{
	void *addresses = tw_array_addresses(TW_PART_BYTES, 0);
	void *at = addresses ? mmap(addresses, TW_PART_BYTES, PROT_READ, MAP_SHARED | MAP_FIXED, fd, from) : MAP_FAILED;
	if (addresses && at == MAP_FAILED)
		munmap(addresses, TW_PART_BYTES);
	return at;
}

/* The part of a table that contains `offset`, mapped; NULL: not possible. */
static uint8_t *part_at(struct tw_descriptor_tables *r, uint32_t number, uint64_t offset)
{
	uint64_t i = offset / TW_PART_BYTES;
	uint8_t **part = &r->table[number - 1].part[i];
	off_t from = (off_t)(tw_table_at(&r->options.control->sizes, number) + i * TW_PART_BYTES);
	void *at = *part ? *part : map_part(r->options.fd, from);
	if (at == MAP_FAILED)
		tw_fail(TW_ERR_SYSTEM, "shared memory: %s", strerror(errno));
	else
		*part = at;
	return *part;
}

/* Of numbers that are drawn in stretches. */
static int note_stretch(struct table *table, uint32_t number)
{
	uint32_t first = number / TW_STRETCH * TW_STRETCH;
	if (number >> 16 >= TW_FIRST_CLAIMED)
		return TW_OK;
	if (table->n_stretches && table->stretches[table->n_stretches - 1] == first)
		return TW_OK;
	uint32_t *stretches = tw_array_room(table->stretches, table->n_stretches, &table->stretches_room, sizeof *stretches);
	if (!stretches)
		return tw_fail(TW_ERR_MEMORY, "descriptors");
	stretches[table->n_stretches++] = first;
	table->stretches = stretches;
	return TW_OK;
}

/* Notes where the path is tallied, if it is. Earlier entries belong to other paths, or to the table's base. */
static int note_entry(struct table *table, const struct tw_descriptor *d)
{
	while (table->n_entries <= d->tag) {
		const struct tw_descriptor **entry = tw_array_room(table->entry, table->n_entries, &table->entries_room, sizeof *entry);
		if (!entry)
			return tw_fail(TW_ERR_MEMORY, "descriptors");
		table->entry = entry;
		entry[table->n_entries++] = NULL;
	}
	table->entry[d->tag] = d;
	return TW_OK;
}

const struct tw_descriptor *tw_tables_tallied(const struct tw_descriptor_tables *r, uint32_t number, uint64_t entry)
{
	const struct tw_descriptor *found = NULL;
	for (unsigned depth = 0; !found && entry && number && number <= TW_DESCRIPTOR_TABLES && depth < MOST_BASES; depth++) {
		const struct table *table = &r->table[number - 1];
		found = entry < table->n_entries ? table->entry[entry] : NULL;
		number = table->base;
	}
	return found;
}

/* Valid descriptors, `n` bytes of them. */
static int note_numbers(struct tw_descriptor_tables *r, struct table *table, const uint8_t *bytes, uint64_t n)
{
	int error = TW_OK;
	for (const struct tw_descriptor *d; n && !error; bytes += d->bytes, n -= d->bytes) {
		d = (const struct tw_descriptor *)bytes;
		r->fragments++;
		error = note_stretch(table, d->number);
		if (!error && r->options.control->flags & TW_FLAG_TALLY)
			error = note_entry(table, d);
	}
	return error;
}

/* Is the table there until the recording ends? */
static int stays(const struct tw_descriptor_tables *r, const struct table *table)
{
	return (atomic_load(&r->options.control->table[table - r->table].program) & TW_TABLE_STAYS) != 0;
}

/* Kept ones are many: their pages are mapped in one call, instead of by a fault for every few. */
static void map_all(uint8_t *part, uint64_t from, uint64_t n)
{
	enum { MANY = 16 * TW_PAGE };
	const uint64_t first = from / TW_PAGE * TW_PAGE;
	if (n >= MANY)
		madvise(part + first, from + n - first, MADV_POPULATE_READ); /* since Linux 5.14 */
}

/* Takes the descriptors from table->taken to `end`, which are in one part except for zeros at its end. */
static int take_from_part(struct tw_descriptor_tables *r, struct table *table, uint8_t *part, uint64_t end)
{
	const struct tw_tables_options *o = &r->options;
	const uint8_t *bytes = part + table->taken % TW_PART_BYTES;
	uint64_t n = end - table->taken, used;
	map_all(part, table->taken % TW_PART_BYTES, n);
	int error = tw_demux_descriptors(o->demux, bytes, n, &used);
	if (error == TW_ERR_DAMAGED && end % TW_PART_BYTES == 0 && !((const struct tw_descriptor *)(bytes + used))->bytes)
		error = TW_OK; /* the rest of the part was too small for the next group */
	if (!error && o->expand)
		error = tw_expand_descriptors(o->expand, bytes, used);
	if (!error)
		error = note_numbers(r, table, bytes, used);
	tw_output_describe(o->output, &table->values, bytes, used, stays(r, table));
	table->described += used;
	table->taken = end;
	table->damaged = error != TW_OK;
	return error;
}

/*
 * Takes what is new in the table itself. The values of its fragments have other slots than those of its base, which
 * its program runs, too.
 */
static int take_own(struct tw_descriptor_tables *r, uint32_t number)
{
	struct table *table = &r->table[number - 1];
	const struct tw_descriptor_table *first = (const struct tw_descriptor_table *)table->part[0];
	const uint64_t used = atomic_load_explicit(&first->used, memory_order_acquire);
	int error = TW_OK;
	if (!table->taken) {
		table->taken = sizeof(struct tw_descriptor_table);
		table->values.n_slots = table->base ? r->table[table->base - 1].values.n_slots : 0;
	}
	while (!error && !table->damaged && table->taken < used && used <= r->options.control->sizes.table_bytes) {
		uint64_t end = (table->taken / TW_PART_BYTES + 1) * TW_PART_BYTES;
		uint8_t *part = part_at(r, number, table->taken);
		error = part ? take_from_part(r, table, part, end < used ? end : used) : TW_ERR_SYSTEM;
	}
	return error;
}

/* Notes what the table is based on, and maps its start. False: it cannot be mapped. */
static int open_table(struct tw_descriptor_tables *r, uint32_t number)
{
	const struct tw_descriptor_table *first = (const struct tw_descriptor_table *)part_at(r, number, 0);
	if (!first)
		return 0;
	r->n_used = number < r->n_used ? r->n_used : number;
	r->table[number - 1].base = first->base <= TW_DESCRIPTOR_TABLES ? first->base : 0;
	return 1;
}

int tw_tables_take(struct tw_descriptor_tables *r, uint32_t number)
{
	uint32_t chain[MOST_BASES], n = 0;
	int error = TW_OK;
	for (; number && number <= TW_DESCRIPTOR_TABLES && n < MOST_BASES; number = r->table[number - 1].base) {
		if (!open_table(r, number))
			return TW_ERR_SYSTEM;
		chain[n++] = number;
	}
	while (n && !error)
		error = take_own(r, chain[--n]);
	return error;
}

/* ---- the image of a table ---- */

/* What is written of it, by and by: to `at` in a file. */
struct image {
	int fd;
	uint64_t at, end; /* end: of what is in it, as an offset in the table */
	uint64_t from;    /* the first byte that is in `bytes` and not written yet */
	uint8_t bytes[1 << 16];
};

static int flush(struct image *i)
{
	const uint64_t n = i->end - i->from;
	const int whole = pwrite(i->fd, i->bytes, n, (off_t)(i->at + i->from)) == (ssize_t)n;
	i->from = i->end;
	return whole;
}

/* It stands where a table would have it, and is no process's. */
static int add_descriptor(struct image *i, const struct tw_descriptor *d)
{
	const uint64_t place = tw_table_place(i->end, d->bytes);
	if ((place != i->end || place - i->from + d->bytes > sizeof i->bytes) && !flush(i))
		return 0;
	if (place != i->end)
		i->from = i->end = place;
	struct tw_descriptor *copy = memcpy(i->bytes + (place - i->from), d, d->bytes);
	copy->pid = 0;
	i->end = place + d->bytes;
	return 1;
}

static int add_table(struct image *i, const struct table *table)
{
	for (uint64_t at = sizeof(struct tw_descriptor_table); at < table->taken;) {
		const uint64_t left = TW_PART_BYTES - at % TW_PART_BYTES;
		const struct tw_descriptor *d = (const struct tw_descriptor *)(table->part[at / TW_PART_BYTES] + at % TW_PART_BYTES);
		const int is_there = left >= sizeof *d && d->bytes;
		if (is_there && (d->bytes > sizeof i->bytes || !add_descriptor(i, d)))
			return 0;
		at += is_there ? d->bytes : left; /* the rest of the part was too small for the next one */
	}
	return 1;
}

uint64_t tw_tables_image(const struct tw_descriptor_tables *r, uint32_t number, int fd, uint64_t at)
{
	static struct image image;
	image = (struct image){.fd = fd, .at = at, .end = sizeof(struct tw_descriptor_table)};
	uint32_t chain[MOST_BASES], n = 0;
	int whole = 1;
	for (; number && number <= TW_DESCRIPTOR_TABLES && n < MOST_BASES; number = r->table[number - 1].base)
		chain[n++] = number;
	while (n && whole) {
		const struct table *table = &r->table[chain[--n] - 1];
		whole = !table->damaged && add_table(&image, table);
	}
	return whole && flush(&image) ? image.end : 0;
}

/* ---- giving up ---- */

/* Forgets those of its numbers that are in no stretch of its own. */
static void forget_claimed(struct tw_descriptor_tables *r, const struct table *table)
{
	for (uint64_t at = sizeof(struct tw_descriptor_table); at < table->taken;) {
		const uint64_t left = TW_PART_BYTES - at % TW_PART_BYTES;
		const struct tw_descriptor *d = (const struct tw_descriptor *)(table->part[at / TW_PART_BYTES] + at % TW_PART_BYTES);
		const int is_there = left >= sizeof *d && d->bytes;
		if (is_there && d->number >> 16 >= TW_FIRST_CLAIMED) {
			tw_demux_forget_one(r->options.demux, d->number);
			tw_output_forget_one(r->options.output, d->number);
		}
		at += is_there ? d->bytes : left;
	}
}

static int give_up(struct tw_descriptor_tables *r, uint32_t number)
{
	const struct tw_tables_options *o = &r->options;
	struct table *table = &r->table[number - 1];
	struct tw_table_state *state = &o->control->table[number - 1];
	struct tw_totals counted = {0};
	tw_output_write_descriptors(o->output);
	forget_claimed(r, table);
	for (size_t i = 0; i < table->n_stretches; i++) {
		tw_demux_forget(o->demux, table->stretches[i]);
		tw_output_forget(o->output, table->stretches[i]);
	}
	if (o->expand)
		tw_expand_forget(o->expand, atomic_load(&state->program), &counted);
	tw_output_add(o->output, &counted);
	uint64_t described = table->described;
	empty_table(table);
	int error = tw_clear_range(o->fd, tw_table_at(&o->control->sizes, number), o->control->sizes.table_bytes);
	if (error)
		return error; /* and the table is not used again */
	atomic_fetch_sub(&o->control->described, described);
	atomic_store(&state->ending, 0);
	atomic_store(&state->program, 0);
	return TW_OK;
}

static void find_named(const struct tw_control *c, uint8_t named[TW_DESCRIPTOR_TABLES + 1])
{
	memset(named, 0, TW_DESCRIPTOR_TABLES + 1);
	for (uint32_t s = 0; s < tw_channel_slots_used(c); s++) {
		uint32_t table = atomic_load(&c->slot[s].state) != TW_SLOT_FREE ? atomic_load(&c->slot[s].table) : 0;
		named[table <= TW_DESCRIPTOR_TABLES ? table : 0] = 1;
	}
}

/* Of a table that its program has, and that does not stay. */
static int is_to_end(uint32_t program)
{
	return program && !(program & TW_TABLE_STAYS);
}

/* `ending` is set before slots are examined: whoever names the table later waits until its fate is decided. */
int tw_tables_sweep(struct tw_descriptor_tables *r)
{
	struct tw_control *c = r->options.control;
	uint8_t used[TW_DESCRIPTOR_TABLES + 1] = {0}, named[TW_DESCRIPTOR_TABLES + 1];
	int error = TW_OK;
	for (uint32_t number = 1; number <= TW_DESCRIPTOR_TABLES; number++)
		used[number] = is_to_end(atomic_load(&c->table[number - 1].program));
	find_named(c, named);
	for (uint32_t number = 1; number <= TW_DESCRIPTOR_TABLES && !error; number++) {
		struct tw_table_state *state = &c->table[number - 1];
		struct table *table = &r->table[number - 1];
		if (!used[number])
			continue;
		if (named[number]) {
			atomic_store(&state->ending, 0);
		} else if (!atomic_load(&state->ending)) {
			table->put = tw_output_put_so_far(r->options.output);
			atomic_store(&state->ending, 1);
		} else if (tw_output_is_done(r->options.output, table->put)) {
			error = give_up(r, number);
		}
	}
	return error;
}
