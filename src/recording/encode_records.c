/*
 * Records, as programs write them. If few fragments run, machine code takes them (encode_code.h). With many, neither
 * that code nor its branch history stays in the processor's caches; then one loop takes them all, driven by the
 * contents of the slots: a fragment's are one or two cache lines.
 */
#include "recording/encode_code.h"
#include "recording/encode_value.h"
#include "recording/lane_sums.h"
#include "recording/recording.h"

/* Tags and values have been taken since the tags ended at `from`, in so many bytes of records. */
static void count_raw(struct tw_encoder *e, const uint16_t *from, size_t bytes)
{
	const size_t tags = (size_t)(e->tags_end - from) * sizeof *from;
	e->coded.raw[TW_STREAM_C] += tags;
	e->coded.raw[TW_STREAM_M] += bytes - tags; /* heads are tags: a change of the upper half is two, and as long */
}

static uint16_t tag_at(const uint8_t *record)
{
	uint16_t tag;
	memcpy(&tag, record, sizeof tag);
	return tag;
}

static void count_turns(struct tw_turn_sums *turns, const uint8_t *record, const struct tw_record_sums *each)
{
	uint64_t n;
	memcpy(&n, record + TW_RECORD_HEAD, sizeof n);
	turns->insns += n * (uint32_t)each->insns_blocks;
	turns->blocks += n * (each->insns_blocks >> 32);
	turns->refs += n * (uint32_t)each->refs_reads;
	turns->reads += n * (each->refs_reads >> 32);
	turns->writes += n * each->writes;
}

/* ---- what a fragment's records count for ---- */

/*
 * In the slot before the fragment's first: what an execution counts for; for a loop, each iteration. It stays for the
 * next chunks of the same thread, and so do the registers of the fragment's slots, since the other fragments of this
 * thread have other slots.
 */
struct head {
	uint16_t insns, blocks, refs, reads, writes;
	uint8_t is_loop, unused;
	uint8_t epoch;      /* as of a slot: of the last chunk in which the fragment ran */
	uint8_t generation; /* where a value's slot has its register; never a generation: it may have been another thread's slot */
};

_Static_assert(offsetof(struct head, epoch) == offsetof(struct tw_value_slot, epoch), "whichever it is, it is old");
_Static_assert(offsetof(struct head, generation) == offsetof(struct tw_value_slot, reg), "whichever it is, it can be told");
_Static_assert(sizeof(struct head) <= sizeof(struct tw_value_slot), "they stand side by side");

/* The fragment has one in this chunk, if it all fits. */
static void set_head(struct tw_encoder *e, struct tw_value_slot *first, uint32_t n, const struct tw_record_sums *each, int is_loop)
{
	const uint64_t insns = (uint32_t)each->insns_blocks, blocks = each->insns_blocks >> 32, refs = (uint32_t)each->refs_reads,
	               reads = each->refs_reads >> 32;
	const struct head head = {.insns = (uint16_t)insns,
	                          .blocks = (uint16_t)blocks,
	                          .refs = (uint16_t)refs,
	                          .reads = (uint16_t)reads,
	                          .writes = (uint16_t)each->writes,
	                          .is_loop = (uint8_t)is_loop,
	                          .epoch = e->values.epoch,
	                          .generation = e->generation};
	if ((insns | blocks | refs | reads | each->writes) <= UINT16_MAX && TW_RECORD_HEAD + n * sizeof(uint64_t) <= TW_MAX_RECORD)
		memcpy(first - 1, &head, sizeof head);
	e->n_heads++;
}

static void count_loop(struct tw_turn_sums *turns, const uint8_t *record, const struct head *head)
{
	const struct tw_record_sums each = {head->insns | (uint64_t)head->blocks << 32, head->refs | (uint64_t)head->reads << 32,
	                                    head->writes};
	count_turns(turns, record, &each);
}

static void add_sums(struct tw_record_sums *to, const struct tw_lane_sums *sums)
{
	uint64_t pairs[2];
	_mm_storeu_si128((__m128i *)(void *)pairs, sums->insns_to_reads);
	to->insns_blocks += pairs[0];
	to->refs_reads += pairs[1];
	to->writes += (uint32_t)_mm_cvtsi128_si32(sums->writes);
}

/*
 * The fragment of this head, followed by n slots, may run for the first time in this chunk. Returns 0 if it has no
 * head: take it in full. Executions outside records may have started its slots.
 */
static __attribute__((noinline)) int start_again(struct tw_encoder *e, struct head *head, struct tw_value_slot *s, uint32_t n)
{
	const struct tw_value_predictor *p = &e->values;
	if (head->generation != e->generation)
		return 0;
	head->epoch = p->epoch;
	e->n_heads++;
	if (n && s->epoch == p->epoch)
		return 1;
	for (struct tw_value_slot *const end = s + n; s < end; s++)
		*s = (struct tw_value_slot){.last = p->reg[s->reg], .epoch = p->epoch, .reg = s->reg};
	return 1;
}

/* ---- the walk ---- */

/* Takes records up to the limit, or before one of a fragment without a head. */
static void walk(struct tw_encoder *e, struct tw_records *r)
{
	struct tw_value_predictor *p = &e->values;
	struct tw_encoder_ends ends = tw_take_ends(e);
	struct tw_lane_sums sums = tw_lane_sums_none();
	const struct tw_value_place *row = p->row;
	struct tw_value_slot *const slots = p->slot;
	const uint8_t epoch = p->epoch, *const limit = r->limit;
	const uint8_t *at = r->p;
	uint16_t *tags = e->tags_end;
	while (at <= limit) {
		const uint16_t tag = tag_at(at);
		const struct tw_value_place *place = &row[tag];
		*tags = tag;
		if (__builtin_expect(!place->first, 0)) {
			if (tag != TW_TAG_UPPER)
				break;
			tags[1] = tag_at(at + TW_RECORD_HEAD);
			tw_set_upper(p, tags[1]);
			row = p->row;
			tags += 2;
			at += 2 * TW_RECORD_HEAD;
			continue;
		}
		struct tw_value_slot *slot = slots + place->first;
		struct head *head = (struct head *)(void *)(slot - 1);
		if (__builtin_expect(head->epoch != epoch, 0) && !start_again(e, head, slot, place->n))
			break;
		if (__builtin_expect(head->is_loop, 0))
			count_loop(&r->turns, at, head);
		else
			tw_lane_sums_add(&sums, head);
		at = tw_encode_execution(e, &ends, slot, place->n, at + TW_RECORD_HEAD);
		tags++;
	}
	r->p = at;
	e->tags_end = tags;
	add_sums(&r->sums, &sums);
	tw_put_ends(e, ends);
}

/* ---- records ---- */

/* As far as machine code goes. */
static void run_code(struct tw_encoder *e, struct tw_records *r)
{
	if (r->p > r->limit || !tw_encoder_code_has_record(e->code, e, tag_at(r->p)))
		return;
	e->records = *r;
	tw_encoder_code_run_records(e->code, e);
	*r = e->records;
}

uint32_t tw_encoder_records(struct tw_encoder *e, struct tw_records *r)
{
	const uint16_t *tags = e->tags_end;
	const uint8_t *from = r->p;
	if (e->code && tw_encoder_code_takes_records(e->code))
		run_code(e, r);
	else
		walk(e, r);
	count_raw(e, tags, (size_t)(r->p - from));
	return e->values.upper;
}

int tw_encoder_record(struct tw_encoder *e, struct tw_records *r, const struct tw_record_sums *each, int is_loop)
{
	uint32_t n;
	const uint16_t tag = *e->tags_end = tag_at(r->p);
	struct tw_value_slot *s = tw_encoder_slots(e, tag, &n);
	if (!s)
		return TW_ERR_FRAGMENT;
	tw_encode_values(e, s, n, r->p + TW_RECORD_HEAD);
	set_head(e, s, n, each, is_loop);
	e->tags_end++;
	count_raw(e, e->tags_end - 1, TW_RECORD_HEAD + n * sizeof(uint64_t));
	if (is_loop) {
		count_turns(&r->turns, r->p, each);
	} else {
		r->sums.insns_blocks += each->insns_blocks;
		r->sums.refs_reads += each->refs_reads;
		r->sums.writes += each->writes;
	}
	r->p += TW_RECORD_HEAD + n * sizeof(uint64_t);
	if (e->code)
		tw_encoder_code_ran(e->code, e, e->values.upper << 16 | tag, (uint32_t)(s - e->values.slot), n,
		                    &(struct tw_code_sums){each, is_loop});
	return TW_OK;
}
