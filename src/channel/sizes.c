#include "channel/sizes.h"

enum { MOST_SCALE = 256, LEAST_SCALE = 4 }; /* three quarters of the one, and so on, come to the other */

/* In the arena (engine/layout.h); a limit on them would do no good. */
#define IMAGE_BYTES (16ull << 20)

static const struct tw_sizes full = {
    .slots = TW_SLOTS,
    .buffers = TW_USUAL_BUFFERS,
    .tables = TW_DESCRIPTOR_TABLES,
    .threads = TW_THREADS,
    .known_entries = TW_KNOWN_ENTRIES,
    .claim_entries = TW_CLAIM_ENTRIES,
    .tally_entries = TW_TALLY_ENTRIES,
    .spares = 128,
    .table_bytes = TW_DESCRIPTOR_TABLE_BYTES,
    .table_at_once = TW_DESCRIPTOR_TABLE_BYTES,
    .store_bytes = TW_STORE_BYTES,
    .cache_bytes = TW_CACHE_BYTES,
    .stubs_bytes = TW_STUBS_BYTES,
    .heap_bytes = TW_HEAP_BYTES,
};

static uint64_t scaled(uint64_t least, uint32_t scale, uint64_t most)
{
	const uint64_t n = least * scale / LEAST_SCALE;
	return n < most ? n : most;
}

static uint64_t pages(uint64_t bytes)
{
	return bytes / TW_PAGE * TW_PAGE;
}

/* At LEAST_SCALE the engine takes 226 MB. */
static struct tw_sizes reduced(uint32_t scale)
{
	return (struct tw_sizes){
	    .slots = (uint32_t)scaled(32, scale, full.slots),
	    .buffers = (uint32_t)scaled(2, scale, full.buffers),
	    .tables = full.tables,
	    .threads = (uint32_t)scaled(512, scale, full.threads),
	    .known_entries = (uint32_t)scaled(1u << 16, scale, full.known_entries),
	    .claim_entries = (uint32_t)scaled(1u << 16, scale, full.claim_entries),
	    .tally_entries = TW_PAGE / 8,
	    .spares = (uint32_t)scaled(2, scale, full.spares),
	    .table_bytes = scaled(4, scale, full.table_bytes / TW_PART_BYTES) * TW_PART_BYTES,
	    .table_at_once = TW_PART_BYTES,
	    .cache_bytes = pages(scaled(28u << 20, scale, full.cache_bytes)),
	    .stubs_bytes = pages(scaled(10u << 20, scale, full.stubs_bytes)),
	    .heap_bytes = pages(scaled(44u << 20, scale, full.heap_bytes)),
	};
}

/* Tables are where they can be in huge pages. */
static uint64_t huge_pages(uint64_t bytes)
{
	return (bytes + TW_HUGE_PAGE - 1) / TW_HUGE_PAGE * TW_HUGE_PAGE;
}

static void lay_out(struct tw_sizes *s)
{
	s->known_at = TW_CONTROL_BYTES;
	s->claims_at = s->known_at + s->known_entries * sizeof(struct tw_known);
	s->slots_at = pages(s->claims_at + s->claim_entries * sizeof(uint64_t) + TW_PAGE - 1);
	s->tallies_at = s->slots_at + s->slots * s->buffers * (uint64_t)TW_BUFFER_STRIDE;
	s->channel_bytes = huge_pages(s->tallies_at + s->slots * s->tally_entries * sizeof(uint64_t));
	s->store_at = s->channel_bytes;
	s->tables_at = huge_pages(s->store_at + s->store_bytes);
	s->memfd_bytes = s->tables_at + s->tables * s->table_bytes;
}

/* A thread's block is private memory, too: those of 16 threads are counted from the start. */
static void count(struct tw_sizes *s, bool tallies)
{
	const uint64_t arena = s->cache_bytes + s->stubs_bytes + IMAGE_BYTES + s->heap_bytes, n_threads = 16;
	const uint64_t each = TW_THREAD_BYTES + (tallies ? s->tally_entries * 8ull + TW_BUFFER_STRIDE : 0);
	s->space = s->channel_bytes + s->table_at_once + arena + s->threads * each + s->spares * (uint64_t)TW_BUFFER_STRIDE;
	s->data = arena + n_threads * TW_THREAD_BYTES;
}

/* Descriptors of fewer programs at once, in less memory each, if the file cannot be as long. False: even that is too long. */
static bool fit_file(struct tw_sizes *s, uint64_t file)
{
	enum { FEW_TABLES = 4, SOME_TABLES = 16 };
	if (s->memfd_bytes <= file)
		return true;
	const uint64_t left = file > s->tables_at ? file - s->tables_at : 0, parts = left / SOME_TABLES / TW_PART_BYTES;
	const uint64_t table = (parts ? parts : 1) * TW_PART_BYTES;
	s->table_bytes = table < s->table_bytes ? table : s->table_bytes;
	s->table_at_once = s->table_at_once < s->table_bytes ? s->table_at_once : s->table_bytes;
	s->tables = (uint32_t)(left / s->table_bytes < s->tables ? left / s->table_bytes : s->tables);
	lay_out(s);
	return s->tables >= FEW_TABLES;
}

static bool fits(struct tw_sizes *s, const struct tw_limits *l)
{
	lay_out(s);
	count(s, l->tallies && !tw_sizes_limited(s));
	return s->space <= l->space && s->data <= l->data && fit_file(s, l->file);
}

bool tw_sizes_choose(struct tw_sizes *s, const struct tw_limits *limits)
{
	*s = full;
	s->buffers = limits->many_buffers ? TW_BUFFERS : full.buffers;
	bool enough = fits(s, limits);
	for (uint32_t scale = MOST_SCALE; !enough && scale >= LEAST_SCALE; scale = scale * 3 / 4) {
		*s = reduced(scale);
		enough = fits(s, limits);
	}
	s->within_space = s->within_data = TW_UNLIMITED;
	return enough;
}
