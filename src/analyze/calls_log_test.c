#include "analyze/calls_log.h"
#include "replay/slots.h"
#include "unit_fragment.h"
#include "unit.h"

#include <stdint.h>
#include <string.h>
#include <trackway/descriptor.h>

enum { STRETCHES = 1000, BATCHES = 900, LOOSE_EVERY = 100 };

/* Stretch 1 has no slot, stretch 2 ends with a return, which reads one; `loose` has no number and two instructions with references. */
static struct tw_stretch kept[3], loose;
static struct tw_block_run plain_block, return_block;
static struct tw_ref_shape refs[2] = {{.size = 8, .insn = 0, .type = TW_READ}, {.size = 8, .insn = 1, .type = TW_READ}};

static struct tw_descriptor *make_code(struct tw_block_run *run, uint32_t number, uint8_t end)
{
	struct tw_descriptor *d = unit_descriptor(number, 2, 0, NULL, 0);
	((struct tw_block *)tw_descriptor_blocks(d))->end = end;
	*run = (struct tw_block_run){.pc = 0x1000, .descriptor = d, .n_insns = 2};
	return d;
}

static void make_stretches(void)
{
	kept[1] = (struct tw_stretch){.blocks = &plain_block, .refs = refs, .n_blocks = 1, .n_refs = 1, .number = 1};
	kept[2] = (struct tw_stretch){.blocks = &return_block, .refs = refs, .n_blocks = 1, .n_refs = 2, .number = 2};
	kept[1].reserved = tw_slot_summary(&kept[1]);
	kept[2].reserved = tw_slot_summary(&kept[2]);
	loose = (struct tw_stretch){.blocks = &plain_block, .refs = refs, .n_blocks = 1, .n_refs = 2};
}

static const struct tw_stretch *stretch_at(size_t i)
{
	return i % LOOSE_EVERY == 50 ? &loose : &kept[1 + i % 2];
}

/* Where a log is read. */
struct reader {
	const struct tw_log_part *part;
	size_t number, word;
};

static uint32_t next_number(struct reader *r)
{
	if (r->part && r->number == r->part->n_numbers) {
		EQUAL(r->word, r->part->n_words); /* a part has the words of its numbers */
		*r = (struct reader){.part = r->part->next};
	}
	return r->part ? r->part->numbers[r->number++] : UINT32_MAX;
}

static uint64_t next_word(struct reader *r)
{
	return r->part->words[r->word++];
}

/* The last block's last instruction read at `slot`. */
static void check_loose(struct reader *r, uint64_t slot)
{
	struct tw_log_count count;
	EQUAL(next_number(r), TW_LOG_BLOCK);
	EQUAL(next_word(r), (uintptr_t)plain_block.descriptor);
	EQUAL(next_word(r), 0);
	EQUAL(next_word(r), 2);
	EQUAL(next_word(r), 2);
	for (uint64_t i = 0; i < 2; i++, r->word += TW_LOG_COUNT_WORDS) {
		memcpy(&count, r->part->words + r->word, sizeof count);
		EQUAL(count.insn, i);
		EQUAL(count.reads, 1);
	}
	EQUAL(next_word(r), slot);
	EQUAL(next_word(r), TW_NO_SLOT);
}

static void check_log(const struct tw_calls_log *log, const uint64_t *addr)
{
	struct reader r = {.part = log->first};
	CHECK(log->first != log->last);
	EQUAL(next_number(&r), TW_LOG_MARK);
	EQUAL(next_number(&r), TW_LOG_THREAD);
	r.word += 4;
	for (size_t i = 0, ref = 0; i < (size_t)STRETCHES * BATCHES; i++) {
		const struct tw_stretch *s = stretch_at(i % STRETCHES);
		ref = i % STRETCHES ? ref : 0;
		EQUAL(next_number(&r), s->number);
		if (s == &loose)
			check_loose(&r, addr[ref + 1]);
		else if (s == &kept[2])
			EQUAL(next_word(&r), addr[ref + 1]);
		ref += s->n_refs;
	}
	EQUAL(next_number(&r), UINT32_MAX);
}

/* A log of many batches has several parts, each with the words of its numbers; dropped parts are reused. */
static void many_batches(void)
{
	static const struct tw_stretch *stretches[STRETCHES];
	static uint64_t addr[2 * STRETCHES + 1];
	struct tw_kept_stretches all = {kept, sizeof kept / sizeof kept[0]};
	struct tw_batch b = {
	    .thread = 1, .stretches = stretches, .n_stretches = STRETCHES, .addr = addr, .lists = (struct tw_batch_lists *)&all};
	struct tw_log_parts parts;
	struct tw_calls_log log = {.parts = &parts};
	struct tw_shapes *shapes = tw_shapes_new();
	tw_log_parts_init(&parts);
	for (size_t i = 0; i < STRETCHES; i++)
		stretches[i] = stretch_at(i);
	for (size_t i = 0; i < sizeof addr / sizeof addr[0]; i++)
		addr[i] = 1000 + i;
	for (int i = 0; i < BATCHES; i++)
		EQUAL(tw_calls_log_add(&log, shapes, &b), 0);
	check_log(&log, addr);
	struct tw_log_part *first = log.first;
	tw_calls_log_drop(&log);
	CHECK(log.first != first && parts.free == first);
	tw_calls_log_free(&log);
	CHECK(!log.first && !log.last);
	EQUAL(tw_calls_log_add(&log, shapes, &b), 0);
	CHECK(log.first && log.first->n_numbers > STRETCHES);
	tw_calls_log_free(&log);
	tw_log_parts_fini(&parts);
	tw_shapes_free(shapes);
}

/* Adds a batch of n stretches, all of them s. */
static void add_same(struct tw_calls_log *log, struct tw_shapes *shapes, uint32_t thread, const struct tw_stretch *s, size_t n)
{
	static const struct tw_stretch *stretches[STRETCHES];
	static const uint64_t addr[2 * STRETCHES + 1];
	struct tw_kept_stretches all = {kept, sizeof kept / sizeof kept[0]};
	const struct tw_batch b = {
	    .thread = thread, .stretches = stretches, .n_stretches = n, .addr = addr, .lists = (struct tw_batch_lists *)&all};
	for (size_t i = 0; i < n; i++)
		stretches[i] = s;
	EQUAL(tw_calls_log_add(log, shapes, &b), 0);
}

static void expect_again(struct reader *r, uint32_t number, uint64_t times)
{
	EQUAL(next_number(r), TW_LOG_MARK);
	EQUAL(next_number(r), TW_LOG_AGAIN);
	EQUAL(next_word(r), number);
	EQUAL(next_word(r), times);
}

/* A repeated stretch without slots takes no room, however often it comes. */
static void the_same_again(void)
{
	struct tw_log_parts parts;
	struct tw_calls_log log = {.parts = &parts};
	struct tw_shapes *shapes = tw_shapes_new();
	tw_log_parts_init(&parts);
	add_same(&log, shapes, 1, &kept[1], 2); /* of which nothing is known yet */
	for (int i = 0; i < BATCHES; i++)
		add_same(&log, shapes, 1, &kept[1], STRETCHES);
	add_same(&log, shapes, 1, &kept[2], 3); /* has a slot each time */
	add_same(&log, shapes, 1, &kept[1], 5);
	add_same(&log, shapes, 2, &kept[1], 7); /* another thread's */
	struct reader r = {.part = log.first, .number = 2, .word = 4};
	EQUAL(next_number(&r), 1);
	EQUAL(next_number(&r), 1);
	expect_again(&r, 1, (uint64_t)BATCHES * STRETCHES);
	for (int i = 0; i < 3; i++, r.word++)
		EQUAL(next_number(&r), 2);
	expect_again(&r, 1, 5);
	EQUAL(next_number(&r), TW_LOG_MARK);
	EQUAL(next_number(&r), TW_LOG_THREAD);
	CHECK(log.first == log.last);
	tw_calls_log_free(&log);
	add_same(&log, shapes, 2, &kept[1], 6);
	r = (struct reader){.part = log.first};
	expect_again(&r, 1, 6);
	tw_calls_log_free(&log);
	tw_log_parts_fini(&parts);
	tw_shapes_free(shapes);
}

int main(void)
{
	struct tw_descriptor *plain = make_code(&plain_block, 1, TW_END_COND), *ending = make_code(&return_block, 2, TW_END_RETURN);
	make_stretches();
	many_batches();
	the_same_again();
	free(plain);
	free(ending);
	return UNIT_END();
}
