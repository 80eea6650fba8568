#include "analyze/calls_log.h"
#include "base/array.h"
#include "replay/program.h"
#include "replay/slots.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

/* ---- shapes ---- */

static unsigned last_insn_of(const struct tw_block_run *run)
{
	const struct tw_block *b = &tw_descriptor_blocks(run->descriptor)[run->block];
	return b->first_insn + b->n_insns - 1u;
}

static struct tw_shape *new_shape(const struct tw_stretch *s)
{
	struct tw_shape *shape = malloc(sizeof *shape + (2 + s->n_blocks) * sizeof shape->slots[0]);
	if (!shape)
		return NULL;
	*shape = (struct tw_shape){.stretch = s, .lead = s->n_blocks ? s->blocks[0].first_ref : s->n_refs};
	if (shape->lead) {
		const unsigned insn = s->refs[shape->lead - 1].insn;
		shape->slots[shape->n_slots++] = tw_slot_find(s->refs, 0, shape->lead, insn, TW_READ);
		shape->slots[shape->n_slots++] = tw_slot_find(s->refs, 0, shape->lead, insn, TW_WRITE);
	}
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		const uint32_t slot = tw_slot_of_block(s, i);
		shape->partial |= s->blocks[i].n_insns != tw_descriptor_blocks(s->blocks[i].descriptor)[s->blocks[i].block].n_insns;
		if (slot != UINT32_MAX)
			shape->slots[shape->n_slots++] = slot;
	}
	return shape;
}

struct tw_shapes *tw_shapes_new(void)
{
	return tw_array_table(1, sizeof(struct tw_shapes));
}

void tw_shapes_free(struct tw_shapes *s)
{
	for (size_t i = 0; s && i < sizeof s->rows / sizeof s->rows[0]; i++) {
		struct tw_shapes_row *row = s->rows[i];
		for (size_t k = 0; row && k < TW_SHAPES_ROW; k++)
			free(row->shape[k]);
		free(row);
	}
	free(s);
}

/* The row of a number. NULL: no memory. */
static struct tw_shapes_row *make_row(struct tw_shapes *s, uint32_t number)
{
	_Atomic(struct tw_shapes_row *) *at = &s->rows[number / TW_SHAPES_ROW];
	struct tw_shapes_row *row = atomic_load(at), *no_row = NULL;
	if (row)
		return row;
	row = calloc(1, sizeof *row);
	if (row && !atomic_compare_exchange_strong(at, &no_row, row)) {
		free(row);
		row = no_row;
	}
	return row;
}

static uint32_t brief_of(const struct tw_stretch *s)
{
	_Static_assert(TW_PROGRAM_MAX < (1 << TW_BRIEF_REFS) - 1, "the number of a slot + 1 has as many bits");
	return s->reserved == TW_SLOT_ASK ? 0 : TW_BRIEF_KNOWN | s->n_refs | (s->reserved - TW_SLOT_NONE) << TW_BRIEF_REFS;
}

/* The shape that a worker makes first is kept. NULL: no memory. */
static struct tw_shape *add_shape(struct tw_shapes *s, const struct tw_stretch *stretch)
{
	const uint32_t in_row = stretch->number % TW_SHAPES_ROW;
	struct tw_shapes_row *row = make_row(s, stretch->number);
	struct tw_shape *made = row ? new_shape(stretch) : NULL, *there = NULL;
	if (!made)
		return NULL;
	if (!atomic_compare_exchange_strong(&row->shape[in_row], &there, made))
		free(made);
	atomic_store_explicit(&s->brief[stretch->number], brief_of(stretch), memory_order_release);
	return there ? there : made;
}

static const struct tw_shape *shape_of(struct tw_shapes *s, const struct tw_stretch *stretch)
{
	struct tw_shapes_row *row = atomic_load_explicit(&s->rows[stretch->number / TW_SHAPES_ROW], memory_order_acquire);
	const struct tw_shape *shape =
	    row ? atomic_load_explicit(&row->shape[stretch->number % TW_SHAPES_ROW], memory_order_acquire) : NULL;
	return shape ? shape : add_shape(s, stretch);
}

/* ---- adding ---- */

/* A part that nothing is in yet. NULL: no memory. */
static struct tw_log_part *new_part(struct tw_log_parts *parts)
{
	pthread_mutex_lock(&parts->lock);
	struct tw_log_part *part = parts->free;
	if (part)
		parts->free = part->next;
	pthread_mutex_unlock(&parts->lock);
	size_t bytes = sizeof *part;
	part = part ? part : tw_array_huge(&bytes);
	if (!part)
		return NULL;
	part->next = NULL;
	part->n_numbers = part->n_words = 0;
	return part;
}

static int add_part(struct tw_calls_log *l)
{
	struct tw_log_part *part = new_part(l->parts);
	if (!part)
		return TW_ERR_MEMORY;
	if (l->last)
		l->last->next = part;
	else
		l->first = part;
	l->last = part;
	return 0;
}

/* Room for so many numbers, and words, in one part. */
static inline int make_room(struct tw_calls_log *l, size_t numbers, size_t words)
{
	const struct tw_log_part *p = l->last;
	return p && TW_LOG_NUMBERS - p->n_numbers >= numbers && TW_LOG_WORDS - p->n_words >= words ? 0 : add_part(l);
}

static void put(struct tw_calls_log *l, uint64_t word)
{
	l->last->words[l->last->n_words++] = word;
}

static void put_number(struct tw_calls_log *l, uint32_t number)
{
	l->last->numbers[l->last->n_numbers++] = number;
}

/* A mark with room for so many words. */
static int put_mark(struct tw_calls_log *l, enum tw_log_mark mark, size_t words)
{
	if (make_room(l, 2, words))
		return TW_ERR_MEMORY;
	put_number(l, TW_LOG_MARK);
	put_number(l, mark);
	return 0;
}

static int put_event(struct tw_calls_log *l, const struct tw_event *e)
{
	const struct tw_keyframe *keyframe = e->payload;
	const struct tw_fork *fork = e->payload;
	const uint64_t clone_thread = 0x10000;
	int error;
	if (tw_event_breaks_calls(e->type, e->payload))
		return put_mark(l, TW_LOG_BREAK, 0);
	switch (e->type) {
	case TW_EVENT_SIGNAL:
		return put_mark(l, TW_LOG_SIGNAL, 0);
	case TW_EVENT_SIGRETURN:
		return put_mark(l, TW_LOG_SIGRETURN, 0);
	case TW_EVENT_GAP:
		return put_mark(l, TW_LOG_GAP, 0);
	case TW_EVENT_KEYFRAME:
		error = put_mark(l, TW_LOG_STACK, 1);
		if (!error)
			put(l, keyframe->regs[TW_RSP]);
		return error;
	case TW_EVENT_FORK:
		if (fork->flags & clone_thread)
			return 0;
		error = put_mark(l, TW_LOG_FORK, 2);
		if (!error) {
			put(l, fork->child_pid);
			put(l, fork->child_tid);
		}
		return error;
	default:
		return 0;
	}
}

static int put_thread(struct tw_calls_log *l, const struct tw_batch *b)
{
	const struct tw_thread_start *start = NULL;
	for (size_t i = 0; i < b->n_events && !start; i++)
		start = b->events[i].type == TW_EVENT_THREAD_START ? b->events[i].payload : NULL;
	int error = put_mark(l, TW_LOG_THREAD, 4);
	if (error)
		return error;
	put(l, b->thread);
	put(l, start != NULL);
	put(l, start ? start->pid : 0);
	put(l, start ? start->tid : 0);
	l->thread = b->thread;
	l->any = 1;
	return 0;
}

/* Words needed for so many references, if each is of another instruction. */
static size_t count_words(uint32_t n_refs)
{
	_Static_assert(TW_LOG_WORDS > 8 + TW_LOG_COUNT_WORDS * (TW_PROGRAM_MAX + 2048), "the references of a block fit in a part");
	return 1 + (size_t)n_refs * TW_LOG_COUNT_WORDS;
}

/* Stores counts of references by instruction, after a word with the number of counts. There is room for them. */
static void put_counts(struct tw_calls_log *l, const struct tw_ref_shape *refs, uint32_t n)
{
	struct tw_log_count count = {0};
	struct tw_log_part *p = l->last;
	uint64_t *n_counts = &p->words[p->n_words++];
	*n_counts = 0;
	for (uint32_t i = 0; i < n; i++) {
		count.insn = refs[i].insn;
		count.refs++;
		count.reads += refs[i].type & TW_READ;
		count.writes += refs[i].type >> 1;
		if (i + 1 < n && refs[i + 1].insn == refs[i].insn)
			continue;
		memcpy(p->words + p->n_words, &count, sizeof count);
		p->n_words += TW_LOG_COUNT_WORDS;
		count = (struct tw_log_count){0};
		++*n_counts;
	}
}

static uint64_t slot_at(const uint64_t *addr, uint32_t slot)
{
	return slot == UINT32_MAX ? TW_NO_SLOT : addr[slot];
}

static void put_slots(struct tw_calls_log *l, const struct tw_ref_shape *refs, const uint64_t *addr, uint32_t n, unsigned insn)
{
	put(l, slot_at(addr, tw_slot_find(refs, 0, n, insn, TW_READ)));
	put(l, slot_at(addr, tw_slot_find(refs, 0, n, insn, TW_WRITE)));
}

static int put_block(struct tw_calls_log *l, const struct tw_block_run *run, const struct tw_ref_shape *refs, const uint64_t *addr,
                     uint32_t n)
{
	int error = put_mark(l, TW_LOG_BLOCK, 5 + count_words(n));
	if (error)
		return error;
	put(l, (uintptr_t)run->descriptor);
	put(l, run->block);
	put(l, run->n_insns);
	put_counts(l, refs, n);
	put_slots(l, refs, addr, n, last_insn_of(run));
	return 0;
}

static int put_refs(struct tw_calls_log *l, const struct tw_ref_shape *refs, const uint64_t *addr, uint32_t n)
{
	int error = n ? put_mark(l, TW_LOG_REFS, 3 + count_words(n)) : 0;
	if (error || !n)
		return error;
	put_counts(l, refs, n);
	put_slots(l, refs, addr, n, refs[n - 1].insn);
	put(l, refs[n - 1].insn);
	return 0;
}

/* The batch as it is gone through. */
struct position {
	const struct tw_event *event, *events_end;
	const uint64_t *addr;
	size_t block;
};

static int put_events(struct tw_calls_log *l, struct position *p, size_t block)
{
	int error = 0;
	while (!error && p->event < p->events_end && p->event->block <= block)
		error = put_event(l, p->event++);
	return error;
}

static int put_loose(struct tw_calls_log *l, struct position *p, const struct tw_stretch *s)
{
	int error = put_refs(l, s->refs, p->addr, s->n_blocks ? s->blocks[0].first_ref : s->n_refs);
	for (uint32_t i = 0; i < s->n_blocks && !error; i++) {
		const struct tw_block_run *run = &s->blocks[i];
		const uint32_t end = i + 1 < s->n_blocks ? run[1].first_ref : s->n_refs;
		error = put_events(l, p, p->block + i);
		if (!error)
			error = put_block(l, run, s->refs + run->first_ref, p->addr + run->first_ref, end - run->first_ref);
	}
	return error;
}

static int put_numbered(struct tw_calls_log *l, const struct tw_shape *shape, struct position *p)
{
	const struct tw_stretch *s = shape->stretch;
	if (shape->partial)
		return put_loose(l, p, s);
	if (make_room(l, 1, shape->n_slots))
		return TW_ERR_MEMORY;
	put_number(l, s->number);
	for (uint32_t i = 0; i < shape->n_slots; i++)
		put(l, slot_at(p->addr, shape->slots[i]));
	return 0;
}

/* A stretch, with events before it or in it. */
static int put_with_events(struct tw_calls_log *l, struct tw_shapes *shapes, struct position *p, const struct tw_stretch *s)
{
	const int has_lead = s->n_blocks && s->blocks[0].first_ref;
	int error = s->n_blocks && !has_lead ? put_events(l, p, p->block) : 0;
	const int has_event = p->event < p->events_end && p->event->block < p->block + s->n_blocks;
	if (error || (!s->n_blocks && !s->n_refs))
		return error;
	if (!s->number || has_event)
		return put_loose(l, p, s);
	const struct tw_shape *shape = shape_of(shapes, s);
	return shape ? put_numbered(l, shape, p) : TW_ERR_MEMORY;
}

/*
 * Stores stretches from i on while each needs only its number and perhaps one slot; there is room for both. Returns
 * the next stretch. The address at a batch's end may be read, and is not stored.
 */
static size_t put_briefs(struct tw_log_part *to, const struct tw_shapes *shapes, const struct tw_batch *b, size_t i, const uint64_t **at)
{
	enum { REFS = (1 << TW_BRIEF_REFS) - 1 };
	const struct tw_kept_stretches kept = tw_kept_stretches(b);
	const struct tw_stretch *const *stretches = b->stretches;
	const uint64_t *addr = *at;
	uint32_t *numbers = to->numbers + to->n_numbers;
	uint64_t *words = to->words + to->n_words;
	const size_t n = b->n_stretches;
	for (; i < n; i++) {
		const uint32_t number = tw_kept_number(&kept, stretches[i]);
		const uint32_t brief = atomic_load_explicit(&shapes->brief[number], memory_order_acquire);
		if (!brief)
			break;
		const uint32_t slot = brief >> TW_BRIEF_REFS & REFS;
		*numbers++ = number;
		*words = addr[slot - (slot != 0)];
		words += slot != 0;
		addr += brief & REFS;
	}
	to->n_numbers = (size_t)(numbers - to->numbers);
	to->n_words = (size_t)(words - to->words);
	*at = addr;
	return i;
}

/* If the whole batch repeats one stretch that needs no word, its number; else 0. A long-running loop makes many such batches. */
static uint32_t same_stretch(const struct tw_shapes *shapes, const struct tw_batch *b)
{
	const struct tw_stretch *const *s = b->stretches;
	const size_t n = b->n_stretches;
	size_t same = 1;
	if (b->n_events || n < 2 || s[0] != s[n - 1])
		return 0;
	while (same < n && s[same] == s[0])
		same++;
	const uint32_t brief = same == n ? atomic_load_explicit(&shapes->brief[s[0]->number], memory_order_acquire) : 0;
	return brief >> TW_BRIEF_REFS == TW_BRIEF_KNOWN >> TW_BRIEF_REFS ? s[0]->number : 0;
}

static int put_again(struct tw_calls_log *l, uint32_t number, uint64_t times)
{
	if (l->again && l->again[0] == number) {
		l->again[1] += times;
		return 0;
	}
	const int error = put_mark(l, TW_LOG_AGAIN, 2);
	if (error)
		return error;
	l->again = &l->last->words[l->last->n_words];
	put(l, number);
	put(l, times);
	return 0;
}

int tw_calls_log_add(struct tw_calls_log *l, struct tw_shapes *shapes, const struct tw_batch *b)
{
	struct position p = {b->events, b->events + b->n_events, b->addr, 0};
	const int is_new = !l->any || l->thread != b->thread;
	const uint32_t same = is_new ? 0 : same_stretch(shapes, b);
	if (same)
		return put_again(l, same, b->n_stretches);
	l->again = NULL;
	int error = is_new ? put_thread(l, b) : 0;
	error = error ? error : make_room(l, b->n_stretches, b->n_stretches);
	for (size_t i = 0; i < b->n_stretches && !error; i++) {
		if (p.event == p.events_end)
			i = put_briefs(l->last, shapes, b, i, &p.addr);
		if (i == b->n_stretches)
			break;
		const struct tw_stretch *s = b->stretches[i];
		error = put_with_events(l, shapes, &p, s);
		error = error ? error : make_room(l, b->n_stretches - i, b->n_stretches - i);
		p.block += s->n_blocks;
		p.addr += s->n_refs;
	}
	return error ? error : put_events(l, &p, UINT32_MAX);
}

void tw_calls_log_drop(struct tw_calls_log *l)
{
	struct tw_log_part *part = l->first;
	l->again = NULL;
	l->first = part->next;
	l->last = l->first ? l->last : NULL;
	pthread_mutex_lock(&l->parts->lock);
	part->next = l->parts->free;
	l->parts->free = part;
	pthread_mutex_unlock(&l->parts->lock);
}

void tw_calls_log_free(struct tw_calls_log *l)
{
	while (l->first)
		tw_calls_log_drop(l);
}

void tw_log_parts_init(struct tw_log_parts *parts)
{
	pthread_mutex_init(&parts->lock, NULL);
	parts->free = NULL;
}

void tw_log_parts_fini(struct tw_log_parts *parts)
{
	for (struct tw_log_part *next; parts->free; parts->free = next) {
		next = parts->free->next;
		free(parts->free);
	}
	pthread_mutex_destroy(&parts->lock);
}
