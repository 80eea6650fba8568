#include "runtime.h"
#include <linux/mman.h>
#include <asm/unistd.h>

/* ---- what is known of records ---- */

static const struct tw_cc_sizes *sizes_of(const struct tw_cc_process *p, uint32_t upper)
{
	for (uint32_t k = 0; k < TW_CC_MODULES && p->sizes[k].size; k++)
		if (p->sizes[k].upper == upper)
			return &p->sizes[k];
	return 0;
}

/* False: there is no memory, or no more room. */
static bool begin_module(struct tw_cc_process *p, const struct tw_descriptor *first)
{
	uint32_t k = 0;
	while (k < TW_CC_MODULES && p->sizes[k].size)
		k++;
	const int64_t at = k == TW_CC_MODULES ? -1
	                                      : SYS(__NR_mmap, 0, 65536 * sizeof *p->sizes[k].size, PROT_READ | PROT_WRITE,
	                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (tw_cc_failed(at))
		return false;
	p->sizes[k] = (struct tw_cc_sizes){(uint16_t *)at, first->number >> 16, (int64_t)first->tag - (first->number & 0xffff)};
	return true;
}

bool tw_cc_tally_note(struct tw_cc_process *p, const struct tw_descriptor *d)
{
	if (!sizes_of(p, d->number >> 16) && !begin_module(p, d))
		return false;
	const uint16_t kind = d->flags & TW_DESC_DYNAMIC || !d->tag ? TW_CC_RECORD_TOLD : d->flags & TW_DESC_LOOP ? TW_CC_RECORD_LOOP : 0;
	sizes_of(p, d->number >> 16)->size[d->number & 0xffff] = (uint16_t)(kind | (2 + 8 * d->n_values));
	return true;
}

/* Entries of windows are assigned like fragment numbers, in the order of descriptors. 0: none left. */
uint32_t tw_cc_tally_entry(struct tw_cc_process *p)
{
	struct tw_descriptor_table *table = p->table;
	const uint32_t entry = table->entries ? table->entries : 1;
	if (entry >= p->control->sizes.tally_entries)
		return 0;
	table->entries = entry + 1;
	return entry;
}

/* ---- telling ---- */

/* What the collector is to count itself goes to the channel. */
static void tell(struct tw_cc_process *p, struct tw_cc_stream *s, uint32_t upper, const uint8_t *record, uint32_t bytes)
{
	if (s->pen_upper != upper) {
		const uint16_t change[2] = {TW_TAG_UPPER, (uint16_t)upper};
		s->pen_upper = upper;
		tw_cc_copy((void *)s->pen, change, sizeof change);
		s->pen += sizeof change;
	}
	tw_cc_copy((void *)s->pen, record, bytes);
	s->pen += bytes;
	p->control->slot[s->number].copied += bytes;
	if (s->pen & TW_CC_FULL)
		tw_cc_buffer_turn(p, s);
}

/* ---- counting ---- */

static inline uint16_t get16(const uint8_t *p)
{
	return *(const uint16_t *)(const void *)p;
}

struct counting {
	struct tw_cc_process *p;
	struct tw_cc_stream *s;
	const uint16_t *size; /* of records, by tag; NULL: of no module */
	uint64_t *run;        /* by tag */
	uint32_t upper, weight;
};

static void set_upper(struct counting *c, uint32_t upper)
{
	const struct tw_cc_sizes *sizes = sizes_of(c->p, upper);
	c->upper = upper;
	c->size = sizes ? sizes->size : 0;
	c->run = sizes ? c->s->tally + sizes->first_entry : 0;
}

/* Counts a record whose executions do not all count the same, or a change of the upper half. Returns what follows it; NULL: unknown. */
static const uint8_t *count_other(struct counting *c, const uint8_t *at)
{
	const uint16_t tag = get16(at), size = c->size ? c->size[tag] : 0;
	const uint32_t bytes = size & TW_CC_RECORD_BYTES;
	uint64_t turns;
	if (tag == TW_TAG_UPPER) {
		set_upper(c, get16(at + 2));
		return at + 4;
	}
	if (!bytes) {
		tw_cc_fail(c->p, "a record that is not described");
		return 0;
	}
	if (size & TW_CC_RECORD_TOLD) {
		for (uint32_t k = 0; k < c->weight; k++)
			tell(c->p, c->s, c->upper, at, bytes);
	} else {
		tw_cc_copy(&turns, at + 2, sizeof turns);
		c->run[tag] += turns * c->weight;
	}
	return at + bytes;
}

/* `weight`: how many records each of them stands for. */
static void count(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t to, uint32_t weight)
{
	struct counting c = {.p = p, .s = s, .weight = weight};
	const uint8_t *at = (const uint8_t *)s->own, *end = (const uint8_t *)to;
	struct tw_slot *slot = &p->control->slot[s->number];
	uint64_t n = 0;
	set_upper(&c, s->first_upper);
	while (at && at < end) {
		const uint16_t tag = get16(at), size = c.size ? c.size[tag] : 0;
		n++;
		if (size - 1u < TW_CC_RECORD_BYTES) {
			c.run[tag] += weight;
			at += size;
		} else {
			at = count_other(&c, at);
		}
	}
	slot->counted_bytes += to - s->own;
	slot->counted_records += n;
}

/* ---- which buffers are counted ---- */

/* The more buffers have been filled, the more are skipped before the next is counted: about one for each 128 of them. */
static uint32_t draw_skip(struct tw_cc_stream *s)
{
	const uint32_t most = s->turns / TW_CC_COUNTED;
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return most ? most / 2 + (uint32_t)((s->random >> 33) % (most + 1)) : 0;
}

void tw_cc_tally_turn(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t to)
{
	struct tw_slot *slot = &p->control->slot[s->number];
	s->turns++;
	slot->written += to - s->own;
	if (s->skip) {
		s->skip--;
		s->skipped++;
		slot->uncounted += to - s->own;
	} else {
		count(p, s, to, s->skipped + 1);
		s->skip = draw_skip(s);
		s->skipped = 0;
	}
	s->first_upper = s->upper;
}

void tw_cc_tally_end(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t to)
{
	p->control->slot[s->number].written += to - s->own;
	count(p, s, to, to - s->own < TW_CC_OWN / 2 ? 1 : s->skipped + 1);
}
