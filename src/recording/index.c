#include "recording/index.h"
#include "recording/reader_state.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum {
	SHARE = 256,       /* fraction of a chunk's bytes for each of its lists; all three are 1.2 % */
	LEAST_BYTES = 64,  /* a list of ten ranges or so */
	MOST_BYTES = 8192, /* what a query reads of each chunk */
	SHARE_OF_ALL = 50,
	SMALL = 1 << 16,   /* an index that is never too large */
	NUMBER_BYTES = 10, /* that a coded number takes at most */
	HAS_BUFFERS = 4,   /* with less some kinds of buffers were not known yet */
};

struct tw_index {
	const struct tw_recording *recording;
	size_t *first; /* per thread: the entry of its first chunk */
	struct tw_index_entry *entry;
	uint8_t *is_known; /* per entry */
	size_t n;          /* entries */
};

/* In the file: a count, that many of these, then their lists one after another. */
struct file_entry {
	uint32_t thread, sequence;
	uint64_t check; /* xxh64 of the checksums of the chunk's sections */
	uint64_t first_tsc, last_tsc;
	uint32_t bytes[TW_INDEX_LISTS];
	uint32_t has_buffers; /* HAS_BUFFERS */
};

/* ---- lists ---- */

static uint8_t *put_number(uint8_t *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)(v | 0x80);
	*to++ = (uint8_t)v;
	return to;
}

/* The next number; at the end of the list as much of it as there is. */
static uint64_t take_number(const uint8_t **at, const uint8_t *end)
{
	uint64_t v = 0;
	for (unsigned shift = 0; *at < end; shift += 7) {
		uint8_t byte = *(*at)++;
		v |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			break;
	}
	return v;
}

/* The next range behind line number *behind; 0: there are no more. */
static int take_lines(const uint8_t **at, const uint8_t *end, uint64_t *behind, struct tw_lines *out)
{
	if (*at == end)
		return 0;
	out->first = *behind + take_number(at, end);
	out->last = out->first + take_number(at, end);
	*behind = out->last + 1;
	return 1;
}

/* Encodes ranges, joining those with less than `gap` lines in between. Returns their bytes, or more than `most` if they take more. */
static size_t code_lines(const struct tw_lines *lines, size_t n, uint64_t gap, size_t most, uint8_t *to)
{
	uint8_t *at = to;
	uint64_t behind = 0;
	for (size_t i = 0, next; i < n && (size_t)(at - to) <= most; i = next) {
		for (next = i + 1; next < n && lines[next].first - lines[next - 1].last - 1 < gap;)
			next++;
		at = put_number(at, lines[i].first - behind);
		at = put_number(at, lines[next - 1].last - lines[i].first);
		behind = lines[next - 1].last + 1;
	}
	return (size_t)(at - to);
}

int tw_lines_code(const struct tw_lines *lines, size_t n, uint32_t most, uint8_t **bytes, uint32_t *n_bytes)
{
	const size_t room = most + 2 * NUMBER_BYTES;
	uint8_t *to = malloc(room);
	if (!to)
		return tw_fail(TW_ERR_MEMORY, TW_INDEX_FILE);
	size_t taken = code_lines(lines, n, 1, most, to);
	for (uint64_t gap = 2; taken > most && gap < 1ull << 60; gap += gap / 8 + 1)
		taken = code_lines(lines, n, gap, most, to);
	if (taken > most) {
		const struct tw_lines all = {lines[0].first, lines[n - 1].last};
		taken = code_lines(&all, 1, 1, most, to);
	}
	uint8_t *less = realloc(to, taken + 1);
	*bytes = less ? less : to;
	*n_bytes = (uint32_t)taken;
	return TW_OK;
}

int tw_index_may_have(const struct tw_index_entry *e, enum tw_index_list list, uint64_t low, uint64_t high)
{
	const uint8_t *at = e->list[list], *end = at + e->bytes[list];
	const uint64_t first = low >> TW_LINE_SHIFT, last = high >> TW_LINE_SHIFT;
	struct tw_lines lines;
	for (uint64_t behind = 0; take_lines(&at, end, &behind, &lines) && lines.first <= last;)
		if (lines.last >= first)
			return 1;
	return 0;
}

/* Makes a list so coarse that it takes at most so many bytes. */
static int coarsen(struct tw_index_entry *e, enum tw_index_list list, uint32_t most)
{
	const uint8_t *at = e->list[list], *end = at + e->bytes[list];
	struct tw_lines *lines = malloc((e->bytes[list] / 2 + 1) * sizeof *lines);
	size_t n = 0;
	if (!lines)
		return tw_fail(TW_ERR_MEMORY, TW_INDEX_FILE);
	for (uint64_t behind = 0; take_lines(&at, end, &behind, &lines[n]);)
		n++;
	uint8_t *less;
	int error = tw_lines_code(lines, n, most, &less, &e->bytes[list]);
	free(lines);
	if (error)
		return error;
	free(e->list[list]);
	e->list[list] = less;
	return TW_OK;
}

void tw_index_entry_free(struct tw_index_entry *e)
{
	for (int i = 0; i < TW_INDEX_LISTS; i++)
		free(e->list[i]);
	memset(e, 0, sizeof *e);
}

uint32_t tw_index_list_most(const struct tw_chunk_info *c)
{
	const uint64_t share = (c->stored[TW_STREAM_C] + c->stored[TW_STREAM_M] + c->stored[TW_STREAM_E]) / SHARE;
	return share < LEAST_BYTES ? LEAST_BYTES : share > MOST_BYTES ? MOST_BYTES : (uint32_t)share;
}

/* ---- entries ---- */

static uint64_t check_of(const struct tw_recording *r, size_t thread, size_t chunk)
{
	return XXH64((const struct tw_reader_checks *)tw_reader_thread(r, thread)->checks.items + chunk, sizeof(struct tw_reader_checks),
	             0);
}

const struct tw_index_entry *tw_index_of(const struct tw_index *x, size_t thread, size_t chunk)
{
	const size_t i = x->first[thread] + chunk;
	return x->is_known[i] ? &x->entry[i] : NULL;
}

void tw_index_add(struct tw_index *x, size_t thread, size_t chunk, struct tw_index_entry *e)
{
	const size_t i = x->first[thread] + chunk;
	tw_index_entry_free(&x->entry[i]);
	x->entry[i] = *e;
	x->is_known[i] = 1;
	memset(e, 0, sizeof *e);
}

void tw_index_close(struct tw_index *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->n; i++)
		tw_index_entry_free(&x->entry[i]);
	free(x->first);
	free(x->entry);
	free(x->is_known);
	free(x);
}

/* ---- reading ---- */

/* The chunk with this sequence number; the number of chunks if there is none. */
static size_t find_chunk(const struct tw_recording *r, size_t thread, uint32_t sequence)
{
	const struct tw_reader_list *chunks = &tw_reader_thread(r, thread)->chunks;
	size_t low = 0, high = chunks->n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (((const struct tw_chunk_info *)chunks->items)[middle].sequence < sequence)
			low = middle + 1;
		else
			high = middle;
	}
	return low < chunks->n && ((const struct tw_chunk_info *)chunks->items)[low].sequence == sequence ? low : chunks->n;
}

/* Takes an entry whose lists are there, if its chunk is as it was. */
static int take_entry(struct tw_index *x, const struct file_entry *f, const uint8_t *lists)
{
	const struct tw_recording *r = x->recording;
	size_t thread = tw_recording_find_thread(r, f->thread);
	if (thread == tw_recording_n_threads(r))
		return TW_OK;
	size_t chunk = find_chunk(r, thread, f->sequence);
	if (chunk == tw_recording_thread(r, thread)->n_chunks || f->check != check_of(r, thread, chunk))
		return TW_OK;
	struct tw_index_entry e = {.first_tsc = f->first_tsc, .last_tsc = f->last_tsc, .has_buffers = f->has_buffers == HAS_BUFFERS};
	for (int i = 0; i < TW_INDEX_LISTS; lists += f->bytes[i++]) {
		e.bytes[i] = f->bytes[i];
		e.list[i] = malloc(e.bytes[i] + 1u);
		if (!e.list[i]) {
			tw_index_entry_free(&e);
			return tw_fail(TW_ERR_MEMORY, TW_INDEX_FILE);
		}
		memcpy(e.list[i], lists, e.bytes[i]);
	}
	tw_index_add(x, thread, chunk, &e);
	return TW_OK;
}

static int take_entries(struct tw_index *x, const uint8_t *bytes, size_t n)
{
	uint64_t count;
	if (n < sizeof count)
		return TW_OK;
	memcpy(&count, bytes, sizeof count);
	if (count > (n - sizeof count) / sizeof(struct file_entry))
		return TW_OK;
	const uint8_t *lists = bytes + sizeof count + count * sizeof(struct file_entry), *end = bytes + n;
	for (uint64_t i = 0; i < count; i++) {
		struct file_entry f;
		memcpy(&f, bytes + sizeof count + i * sizeof f, sizeof f);
		uint64_t length = (uint64_t)f.bytes[0] + f.bytes[1] + f.bytes[2];
		int error = length > (uint64_t)(end - lists) ? TW_ERR_DAMAGED : take_entry(x, &f, lists);
		if (error)
			return error == TW_ERR_DAMAGED ? TW_OK : error;
		lists += length;
	}
	return TW_OK;
}

static int take_block(struct tw_index *x, const struct tw_reader_file *f)
{
	struct tw_file_block b;
	struct tw_bytes raw = {0};
	if (!tw_reader_header_at(f, 0, TW_BLOCK_MAGIC, sizeof b))
		return TW_OK;
	memcpy(&b, f->bytes, sizeof b);
	if (b.kind != TW_BLOCK_INDEX || b.stored > f->n - sizeof b)
		return TW_OK;
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	int error = zstd ? tw_reader_unpack(zstd, f->bytes + sizeof b, b.stored, b.section_check, b.raw, &raw) : TW_ERR_MEMORY;
	if (!error)
		error = take_entries(x, raw.at, raw.n);
	free(raw.at);
	ZSTD_freeDCtx(zstd);
	return error == TW_ERR_MEMORY ? tw_fail(error, TW_INDEX_FILE) : TW_OK;
}

static int read_file(struct tw_index *x)
{
	struct tw_reader_file f;
	if (tw_reader_map(x->recording, TW_INDEX_FILE, &f))
		return TW_OK;
	int error = take_block(x, &f);
	tw_reader_unmap(&f);
	return error;
}

int tw_index_open(const struct tw_recording *r, struct tw_index **out)
{
	struct tw_index *x = *out = calloc(1, sizeof *x);
	if (!x)
		return tw_fail(TW_ERR_MEMORY, TW_INDEX_FILE);
	x->recording = r;
	x->first = calloc(tw_recording_n_threads(r) + 1, sizeof *x->first);
	for (size_t t = 0; x->first && t < tw_recording_n_threads(r); t++) {
		x->first[t] = x->n;
		x->n += tw_recording_thread(r, t)->n_chunks;
	}
	x->entry = calloc(x->n + 1, sizeof *x->entry);
	x->is_known = calloc(x->n + 1, 1);
	int error = x->first && x->entry && x->is_known ? read_file(x) : tw_fail(TW_ERR_MEMORY, TW_INDEX_FILE);
	if (error) {
		tw_index_close(x);
		*out = NULL;
	}
	return error;
}

/* ---- writing ---- */

static int append_entries(const struct tw_index *x, struct tw_bytes *to)
{
	const struct tw_recording *r = x->recording;
	uint64_t count = 0;
	for (size_t i = 0; i < x->n; i++)
		count += x->is_known[i];
	int error = tw_bytes_append(to, &count, sizeof count);
	for (size_t t = 0; t < tw_recording_n_threads(r) && !error; t++) {
		for (size_t c = 0; c < tw_recording_thread(r, t)->n_chunks && !error; c++) {
			const struct tw_index_entry *e = tw_index_of(x, t, c);
			if (!e)
				continue;
			const struct file_entry f = {.thread = tw_recording_thread(r, t)->serial,
			                             .sequence = tw_recording_chunk_info(r, t, c)->sequence,
			                             .check = check_of(r, t, c),
			                             .first_tsc = e->first_tsc,
			                             .last_tsc = e->last_tsc,
			                             .bytes = {e->bytes[0], e->bytes[1], e->bytes[2]},
			                             .has_buffers = e->has_buffers ? HAS_BUFFERS : 0};
			error = tw_bytes_append(to, &f, sizeof f);
		}
	}
	return error;
}

static int append_lists(const struct tw_index *x, struct tw_bytes *to)
{
	int error = TW_OK;
	for (size_t i = 0; i < x->n; i++)
		for (int k = 0; k < TW_INDEX_LISTS && x->is_known[i] && !error; k++)
			error = tw_bytes_append(to, x->entry[i].list[k], x->entry[i].bytes[k]);
	return error;
}

/* Halves each list, unless it is minimal. Returns how many became shorter, or an error. */
static int coarsen_all(struct tw_index *x)
{
	int shorter = 0;
	for (size_t i = 0; i < x->n; i++) {
		for (int k = 0; k < TW_INDEX_LISTS && x->is_known[i]; k++) {
			uint32_t bytes = x->entry[i].bytes[k];
			int error = bytes > 2 ? coarsen(&x->entry[i], (enum tw_index_list)k, bytes / 2) : TW_OK;
			if (error)
				return error;
			shorter += x->entry[i].bytes[k] < bytes;
		}
	}
	return shorter;
}

static uint64_t most_stored(const struct tw_recording *r)
{
	const uint64_t *stored = r->sum.stored;
	const uint64_t most = (stored[TW_STREAM_C] + stored[TW_STREAM_M] + stored[TW_STREAM_E] + r->sum.code_stored) / SHARE_OF_ALL;
	return most > SMALL ? most : SMALL;
}

static int write_block(const struct tw_recording *r, const struct tw_bytes *raw)
{
	struct tw_block_file *file;
	int error = tw_block_file_create(r, TW_INDEX_FILE, &file);
	if (error)
		return error;
	error = tw_block_file_add(file, TW_BLOCK_INDEX, TW_INDEX_LEVEL, raw->at, raw->n);
	int closing = tw_block_file_close(file, error);
	return error ? error : closing;
}

int tw_index_write(struct tw_index *x)
{
	struct tw_bytes raw = {0}, packed = {0};
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	int error = zstd ? TW_OK : tw_fail(TW_ERR_MEMORY, TW_INDEX_FILE), shorter;
	do {
		raw.n = packed.n = 0;
		shorter = 0;
		if (!error)
			error = append_entries(x, &raw);
		if (!error)
			error = append_lists(x, &raw);
		if (!error)
			error = tw_compress(zstd, &packed, raw.at, raw.n, TW_INDEX_LEVEL);
		if (!error && packed.n > most_stored(x->recording))
			shorter = coarsen_all(x);
		if (shorter < 0)
			error = shorter;
	} while (shorter > 0);
	if (!error)
		error = write_block(x->recording, &raw);
	free(raw.at);
	free(packed.at);
	ZSTD_freeCCtx(zstd);
	return error;
}
