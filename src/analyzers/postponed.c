#include "analyzers/postponed.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

enum { LONGEST_TURN = 8 }; /* blocks of a turn that may be left out */

struct tw_part tw_part_of(const struct tw_batch *b)
{
	return (struct tw_part){
	    .blocks = tw_batch_blocks(b),
	    .refs = tw_batch_refs(b),
	    .events = b->events,
	    .n_blocks = b->n_blocks,
	    .n_refs = b->n_refs,
	    .n_events = b->n_events,
	};
}

static void free_part(struct tw_part *part)
{
	free((void *)part->blocks);
	free((void *)part->refs);
	free((void *)part->events);
	free(part->writes);
}

/* ---- writes that are still to come ---- */

static struct tw_postponed_count *count_at(struct tw_postponed_count *counts, size_t room, uint64_t addr)
{
	size_t i = (size_t)(addr * 0x9e3779b97f4a7c15ull >> 32) & (room - 1);
	while (counts[i].used && counts[i].addr != addr)
		i = (i + 1) & (room - 1);
	return &counts[i];
}

static int more_counts(struct tw_postponed *p)
{
	enum { FIRST = 64 };
	size_t live = 0, room = FIRST;
	for (size_t i = 0; i < p->counts_room; i++)
		live += p->counts[i].n != 0;
	while (room <= 4 * live)
		room *= 2;
	struct tw_postponed_count *counts = calloc(room, sizeof *counts);
	if (!counts)
		return 0;
	p->n_counts = live;
	for (size_t i = 0; i < p->counts_room; i++)
		if (p->counts[i].n)
			*count_at(counts, room, p->counts[i].addr) = p->counts[i];
	free(p->counts);
	p->counts = counts;
	p->counts_room = room;
	return 1;
}

static int count_write(struct tw_postponed *p, uint64_t addr)
{
	if (2 * p->n_counts >= p->counts_room && !more_counts(p))
		return TW_ERR_MEMORY;
	struct tw_postponed_count *c = count_at(p->counts, p->counts_room, addr);
	p->n_counts += !c->used;
	*c = (struct tw_postponed_count){addr, c->n + 1, 1};
	return 0;
}

size_t tw_postponed_writes(const struct tw_postponed *p, uint64_t addr)
{
	return p->counts_room ? count_at(p->counts, p->counts_room, addr)->n : 0;
}

void tw_postponed_pass(struct tw_postponed *p, size_t ref)
{
	struct tw_part *part = &p->parts[p->first];
	for (; part->write < part->n_writes && part->writes[part->write].ref < ref; part->write++)
		count_at(p->counts, p->counts_room, part->writes[part->write].addr)->n--;
}

/* ---- copies ---- */

/* A copy that is being made. */
struct copying {
	struct tw_part *to;
	struct tw_block_run *blocks;
	struct tw_ref *refs;
	size_t writes_room;
	size_t from;                    /* blocks before this one are not compared: an event or a write stands between */
	size_t alike[LONGEST_TURN + 1]; /* this many blocks at the end equal those before them */
};

/* Is block i of the copy as block k is? */
static int is_alike(const struct copying *c, size_t i, size_t k)
{
	const struct tw_block_run *a = &c->blocks[i], *b = &c->blocks[k];
	const size_t n = tw_part_refs_end(c->to, i) - a->first_ref;
	return a->pc == b->pc && a->n_insns == b->n_insns && n == tw_part_refs_end(c->to, k) - b->first_ref &&
	       !memcmp(&c->refs[a->first_ref], &c->refs[b->first_ref], n * sizeof *c->refs);
}

/* Drops the newest blocks if they are an iteration like the two before: two suffice to show that it was repeated. */
static void leave_out(struct copying *c)
{
	const size_t n = c->to->n_blocks, last = n - 1;
	for (size_t turn = 1; turn <= LONGEST_TURN; turn++) {
		c->alike[turn] = last >= c->from + turn && is_alike(c, last, last - turn) ? c->alike[turn] + 1 : 0;
		if (c->alike[turn] < 2 * turn)
			continue;
		c->to->n_refs = c->blocks[n - turn].first_ref;
		c->to->n_blocks = n - turn;
		memset(c->alike, 0, sizeof c->alike);
		c->alike[turn] = turn;
		return;
	}
}

static int note_write(struct copying *c, uint64_t addr, size_t ref)
{
	struct tw_part *to = c->to;
	struct tw_postponed_write *writes = tw_array_room(to->writes, to->n_writes, &c->writes_room, sizeof *writes);
	if (!writes)
		return TW_ERR_MEMORY;
	to->writes = writes;
	writes[to->n_writes++] = (struct tw_postponed_write){addr, ref};
	return 0;
}

static void compare_from(struct copying *c, size_t block)
{
	c->from = block;
	memset(c->alike, 0, sizeof c->alike);
}

/* `done`: so many of its references have been looked at. */
static int copy_block(struct copying *c, const struct tw_part *part, size_t i, size_t done, const struct tw_postponed_wanted *wanted)
{
	struct tw_part *to = c->to;
	const struct tw_block_run *run = &part->blocks[i];
	const size_t n = tw_part_refs_end(part, i) - run->first_ref;
	c->blocks[to->n_blocks] = *run;
	c->blocks[to->n_blocks++].first_ref = (uint32_t)to->n_refs;
	memcpy(&c->refs[to->n_refs], &part->refs[run->first_ref], n * sizeof *c->refs);
	int wrote = done > 0, error = 0;
	for (size_t k = done; k < n && !error; k++)
		if ((part->refs[run->first_ref + k].type & TW_WRITE) && wanted->is(wanted->context, run, &part->refs[run->first_ref + k])) {
			error = note_write(c, part->refs[run->first_ref + k].addr, to->n_refs + k);
			wrote = 1;
		}
	to->n_refs += n;
	if (wrote)
		compare_from(c, to->n_blocks);
	else
		leave_out(c);
	return error;
}

/* Events from the part's next on, with their payloads after them; their block numbers are set later. */
static struct tw_event *copy_events(const struct tw_part *part, struct tw_part *to)
{
	const struct tw_event *from = part->events + part->event;
	to->n_events = part->n_events - part->event;
	size_t bytes = to->n_events * sizeof(struct tw_event);
	for (size_t i = 0; i < to->n_events; i++)
		bytes += (from[i].bytes + 7u) & ~7u;
	struct tw_event *events = malloc(bytes + !bytes);
	uint8_t *payload = (uint8_t *)(events + to->n_events);
	for (size_t i = 0; i < to->n_events && events; i++) {
		events[i] = from[i];
		events[i].payload = payload;
		memcpy(payload, from[i].payload, from[i].bytes);
		payload += (from[i].bytes + 7u) & ~7u;
	}
	return events;
}

static void *shrink(void *of, size_t bytes)
{
	void *less = realloc(of, bytes + !bytes);
	return less ? less : of;
}

static int copy_part(struct tw_part *to, const struct tw_part *part, const struct tw_postponed_wanted *wanted)
{
	const size_t n_blocks = part->n_blocks - part->block;
	const size_t n_refs = n_blocks ? part->n_refs - part->blocks[part->block].first_ref : 0;
	struct copying c = {.to = to, .blocks = malloc(n_blocks * sizeof *c.blocks + 1), .refs = malloc(n_refs * sizeof *c.refs + 1)};
	struct tw_event *events = copy_events(part, to);
	to->blocks = c.blocks;
	to->refs = c.refs;
	to->events = events;
	to->ref = part->ref;
	if (!c.blocks || !c.refs || !events)
		return TW_ERR_MEMORY;
	int error = 0;
	size_t e = 0;
	for (size_t i = part->block; i < part->n_blocks && !error; i++) {
		for (; e < to->n_events && events[e].block <= i; e++) {
			events[e].block = (uint32_t)to->n_blocks;
			compare_from(&c, to->n_blocks);
		}
		error = copy_block(&c, part, i, i == part->block ? part->ref : 0, wanted);
	}
	for (; e < to->n_events; e++)
		events[e].block = (uint32_t)to->n_blocks;
	to->blocks = shrink(c.blocks, to->n_blocks * sizeof *c.blocks);
	to->refs = shrink(c.refs, to->n_refs * sizeof *c.refs);
	return error;
}

int tw_postponed_add(struct tw_postponed *p, const struct tw_part *part, const struct tw_postponed_wanted *wanted)
{
	struct tw_part *parts = tw_array_room(p->parts, p->n, &p->room, sizeof *parts);
	if (!parts)
		return TW_ERR_MEMORY;
	p->parts = parts;
	struct tw_part *to = &parts[p->n];
	*to = (struct tw_part){0};
	int error = copy_part(to, part, wanted);
	for (size_t i = 0; i < to->n_writes && !error; i++)
		error = count_write(p, to->writes[i].addr);
	if (error) {
		free_part(to);
		return error;
	}
	p->n++;
	p->bytes += to->n_blocks * sizeof *to->blocks + to->n_refs * sizeof *to->refs;
	return 0;
}

void tw_postponed_close(struct tw_postponed *p)
{
	for (size_t i = p->first; i < p->n; i++)
		p->parts[i].closed = 1;
}

void tw_postponed_close_at(struct tw_postponed *p, uint64_t due)
{
	for (size_t i = p->n; i > p->first && !p->parts[i - 1].closed && !p->parts[i - 1].due; i--)
		p->parts[i - 1].due = due;
}

int tw_postponed_close_due(struct tw_postponed *p, uint64_t now, uint64_t *next)
{
	size_t i = p->first, closed = 0;
	for (; i < p->n && (p->parts[i].closed || (p->parts[i].due && p->parts[i].due <= now)); i++) {
		closed += !p->parts[i].closed;
		p->parts[i].closed = 1;
	}
	if (i < p->n && p->parts[i].due && p->parts[i].due < *next)
		*next = p->parts[i].due;
	return closed != 0;
}

struct tw_part *tw_postponed_first(const struct tw_postponed *p)
{
	return p->first < p->n ? &p->parts[p->first] : NULL;
}

void tw_postponed_drop(struct tw_postponed *p)
{
	struct tw_part *part = &p->parts[p->first];
	tw_postponed_pass(p, part->n_refs);
	p->bytes -= part->n_blocks * sizeof *part->blocks + part->n_refs * sizeof *part->refs;
	free_part(part);
	if (++p->first == p->n)
		p->first = p->n = 0;
}

void tw_postponed_free(struct tw_postponed *p)
{
	for (size_t i = p->first; i < p->n; i++)
		free_part(&p->parts[i]);
	free(p->parts);
	free(p->counts);
	memset(p, 0, sizeof *p);
}
