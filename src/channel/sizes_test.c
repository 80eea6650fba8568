/* Sizes of the channel and the engine: within every limit, as large as it allows, parts that do not overlap. */
#include "channel/sizes.h"
#include "unit.h"

#define MB (1ull << 20)
#define GB (1ull << 30)

/* The parts follow one another and have room for what is in them. */
static void check_layout(const struct tw_sizes *s)
{
	CHECK(s->known_at >= sizeof(struct tw_control) && s->slots_at % TW_PAGE == 0 && s->tallies_at % TW_PAGE == 0);
	CHECK(s->claims_at - s->known_at >= s->known_entries * sizeof(struct tw_known) &&
	      s->slots_at - s->claims_at >= s->claim_entries * 8ull);
	EQUAL(tw_buffer_at(s, s->slots, 0), s->tallies_at);
	const uint64_t end = s->tallies_at + s->slots * tw_tally_bytes(s);
	CHECK(end <= s->channel_bytes && s->channel_bytes < end + TW_HUGE_PAGE);
	CHECK(s->channel_bytes % TW_HUGE_PAGE == 0 && s->tables_at % TW_HUGE_PAGE == 0);
	CHECK(s->store_at >= s->channel_bytes && s->store_at % TW_PAGE == 0 && s->table_bytes % TW_PART_BYTES == 0);
	EQUAL(tw_table_at(s, s->tables + 1), s->memfd_bytes);
	CHECK(s->slots <= TW_SLOTS && s->buffers >= 2 && s->buffers <= TW_BUFFERS && s->tables <= TW_DESCRIPTOR_TABLES &&
	      s->threads >= s->slots);
	CHECK(s->table_at_once <= s->table_bytes && s->spares && s->spares <= 128 && s->claim_entries);
}

static bool choose(struct tw_sizes *s, uint64_t space, uint64_t data, uint64_t file)
{
	const struct tw_limits l = {space, data, file, true, false};
	const bool enough = tw_sizes_choose(s, &l);
	if (enough)
		CHECK(s->space <= space && s->data <= data && s->memfd_bytes <= file);
	check_layout(s);
	return enough;
}

static void test_unlimited(void)
{
	struct tw_sizes s;
	CHECK(choose(&s, TW_UNLIMITED, TW_UNLIMITED, TW_UNLIMITED));
	CHECK(!tw_sizes_limited(&s));
	EQUAL(s.slots, TW_SLOTS);
	EQUAL(s.tables, TW_DESCRIPTOR_TABLES);
	EQUAL(s.heap_bytes, TW_HEAP_BYTES);
	CHECK(choose(&s, s.space, s.data, s.memfd_bytes));
	CHECK(!tw_sizes_limited(&s));
}

/* With more there is never less of anything. */
static void test_space(void)
{
	struct tw_sizes s, before = {0};
	CHECK(choose(&s, 256 * MB, TW_UNLIMITED, TW_UNLIMITED));
	CHECK(tw_sizes_limited(&s));
	CHECK(!choose(&s, 128 * MB, TW_UNLIMITED, TW_UNLIMITED));
	for (uint64_t space = 256 * MB; space < 600 * GB; space += space / 7) {
		CHECK(choose(&s, space, TW_UNLIMITED, TW_UNLIMITED));
		CHECK(s.slots >= before.slots && s.threads >= before.threads && s.cache_bytes >= before.cache_bytes);
		CHECK(s.table_bytes >= before.table_bytes && s.buffers >= before.buffers);
		before = s;
	}
	CHECK(!tw_sizes_limited(&s));
}

static void test_data(void)
{
	struct tw_sizes s;
	CHECK(choose(&s, TW_UNLIMITED, 256 * MB, TW_UNLIMITED));
	CHECK(s.cache_bytes + s.stubs_bytes + s.heap_bytes <= 256 * MB);
	CHECK(!choose(&s, TW_UNLIMITED, 50 * MB, TW_UNLIMITED));
	CHECK(choose(&s, 300 * MB, 200 * MB, GB));
}

/* What a limit on files makes less are slots, and programs at once. */
static void test_file(void)
{
	struct tw_sizes s;
	CHECK(!choose(&s, TW_UNLIMITED, TW_UNLIMITED, 100 * MB));
	for (uint64_t file = 160 * MB; file < 8192 * GB; file += file / 3)
		CHECK(choose(&s, TW_UNLIMITED, TW_UNLIMITED, file));
	CHECK(!tw_sizes_limited(&s));
	EQUAL(s.tables, TW_DESCRIPTOR_TABLES);
	CHECK(choose(&s, TW_UNLIMITED, TW_UNLIMITED, 100 * GB));
	CHECK(!tw_sizes_limited(&s) && s.tables < TW_DESCRIPTOR_TABLES);
}

int main(void)
{
	test_unlimited();
	test_space();
	test_data();
	test_file();
	return UNIT_END();
}
