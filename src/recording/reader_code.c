/* The scan of the code file: descriptors, modules, processes. All of them are kept, decompressed. */
#include "recording/reader_state.h"
#include "base/array.h"
#include "recording/value_map.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* A larger size in a header is damage. */
#define MAX_BLOCK (4ull << 30)

/* TW_ERR_DAMAGED: there is one of this number. */
static int add_descriptor(struct tw_recording *r, const struct tw_descriptor *d)
{
	const struct tw_descriptor **row = tw_numbered_add_row(&r->table, d->number >> 16);
	if (row && row[d->number & 0xffff])
		return TW_ERR_DAMAGED;
	const struct tw_descriptor **item = tw_reader_add(&r->descriptors, sizeof *item);
	if (!row || !item)
		return tw_fail(TW_ERR_MEMORY, "descriptors");
	*item = row[d->number & 0xffff] = d;
	r->sum.fragments++;
	r->described += d->bytes;
	return r->values ? tw_value_map_add(r->values, NULL, d) : TW_OK;
}

static int add_descriptors(struct tw_recording *r, const uint8_t *bytes, uint64_t n, uint64_t offset)
{
	uint64_t at = 0;
	while (at < n) {
		const struct tw_descriptor *d = (const struct tw_descriptor *)(bytes + at);
		int error = tw_descriptor_valid(d, n - at) ? add_descriptor(r, d) : TW_ERR_DAMAGED;
		if (error == TW_ERR_DAMAGED) {
			tw_reader_problem(r, error, TW_CODE_FILE ": the block at offset %llu holds an invalid descriptor at byte %llu",
			                  (unsigned long long)offset, (unsigned long long)at);
			return TW_OK;
		}
		if (error)
			return error;
		at += d->bytes;
	}
	return TW_OK;
}

static int add_modules(struct tw_recording *r, const uint8_t *bytes, uint64_t n, uint64_t offset)
{
	const struct tw_file_module *f;
	for (uint64_t at = 0; at < n; at += sizeof *f + f->path_bytes) {
		f = (const struct tw_file_module *)(bytes + at);
		if (n - at < sizeof *f || f->path_bytes % 8 || n - at - sizeof *f < f->path_bytes || !memchr(f + 1, 0, f->path_bytes)) {
			tw_reader_problem(r, TW_ERR_DAMAGED, TW_CODE_FILE ": the block at offset %llu holds an invalid module",
			                  (unsigned long long)offset);
			return TW_OK;
		}
		struct tw_module *m = tw_reader_add(&r->modules, sizeof *m);
		if (!m)
			return tw_fail(TW_ERR_MEMORY, "modules");
		*m = (struct tw_module){f->address, f->length, f->offset, f->pid, f->prot, f->thread, f->sequence, (const char *)(f + 1)};
	}
	return TW_OK;
}

static int add_notes(struct tw_recording *r, const uint8_t *bytes, uint64_t n, uint64_t offset)
{
	const struct tw_file_note *note;
	for (uint64_t at = 0; at < n; at += sizeof *note + note->text_bytes) {
		note = (const struct tw_file_note *)(bytes + at);
		int error = tw_processes_note(&r->processes, note, n - at);
		if (error == TW_ERR_DAMAGED)
			tw_reader_problem(r, error, TW_CODE_FILE ": the block at offset %llu holds an invalid process",
			                  (unsigned long long)offset);
		if (error)
			return error == TW_ERR_DAMAGED ? TW_OK : error;
	}
	return TW_OK;
}

static int add_budget(struct tw_recording *r, const uint8_t *bytes, uint64_t n, uint64_t offset)
{
	const struct tw_budget *b = (const struct tw_budget *)bytes;
	if (n < sizeof *b || (n - sizeof *b) % sizeof *b->of || !b->asked.period) {
		tw_reader_problem(r, TW_ERR_DAMAGED, TW_CODE_FILE ": the block at offset %llu holds an invalid budget",
		                  (unsigned long long)offset);
		return TW_OK;
	}
	r->budget = b;
	r->budget_periods = (n - sizeof *b) / sizeof *b->of;
	return TW_OK;
}

static int add_budget_end(struct tw_recording *r, const uint8_t *bytes, uint64_t n, uint64_t offset)
{
	if (n < offsetof(struct tw_budget_end, displaced))
		tw_reader_problem(r, TW_ERR_DAMAGED, TW_CODE_FILE ": the block at offset %llu holds an invalid end of a budget",
		                  (unsigned long long)offset);
	else
		memcpy(&r->budget_end, bytes, n < sizeof r->budget_end ? n : sizeof r->budget_end);
	r->has_budget_end |= n >= offsetof(struct tw_budget_end, displaced);
	return TW_OK;
}

/*
 * Removes idle fragments from the list of descriptors. Lookups by number still find them, although no chunk of an
 * intact recording needs them.
 */
static int drop_idle(struct tw_recording *r, const uint32_t *numbers, uint64_t n, uint64_t offset)
{
	const struct tw_descriptor **items = (const struct tw_descriptor **)r->descriptors.items;
	size_t left = 0;
	for (uint64_t i = 1; i < n; i++) {
		if (numbers[i - 1] < numbers[i])
			continue;
		tw_reader_problem(r, TW_ERR_DAMAGED, TW_CODE_FILE ": the block at offset %llu holds an invalid list of fragments",
		                  (unsigned long long)offset);
		return TW_OK;
	}
	for (size_t i = 0; i < r->descriptors.n; i++)
		if (!bsearch(&items[i]->number, numbers, n, sizeof *numbers, tw_by_number32))
			items[left++] = items[i];
	r->descriptors.n = left;
	return TW_OK;
}

int tw_reader_add_block(struct tw_recording *r, const struct tw_file_block *b, const uint8_t *bytes, uint64_t offset)
{
	r->sum.code_raw += b->raw;
	r->sum.code_stored += sizeof *b + b->stored;
	switch (b->kind) {
	case TW_BLOCK_DESCRIPTORS:
		return add_descriptors(r, bytes, b->raw, offset);
	case TW_BLOCK_MODULES:
		return add_modules(r, bytes, b->raw, offset);
	case TW_BLOCK_PROCESSES:
		return add_notes(r, bytes, b->raw, offset);
	case TW_BLOCK_BUDGET:
		return add_budget(r, bytes, b->raw, offset);
	case TW_BLOCK_BUDGET_END:
		return add_budget_end(r, bytes, b->raw, offset);
	case TW_BLOCK_IDLE:
		return drop_idle(r, (const uint32_t *)(const void *)bytes, b->raw / sizeof(uint32_t), offset);
	default:
		return TW_OK; /* of a later time, and not needed */
	}
}

/* A block of the file, unpacked; damage is noted. Its bytes are kept until the recording is closed. */
static int add_block(struct tw_recording *r, ZSTD_DCtx *zstd, const char *name, tw_block_visit *visit, const struct tw_file_block *b,
                     const uint8_t *stored, uint64_t offset)
{
	struct tw_bytes raw = {0};
	int error = b->raw > MAX_BLOCK ? TW_ERR_DAMAGED : tw_reader_unpack(zstd, stored, b->stored, b->section_check, b->raw, &raw);
	if (error)
		free(raw.at);
	if (error == TW_ERR_MEMORY)
		return tw_fail(error, "%s", name);
	if (error) {
		tw_reader_problem(r, error, "%s: the block at offset %llu", name, (unsigned long long)offset);
		return TW_OK;
	}
	void **keep = tw_reader_add(&r->blocks, sizeof *keep);
	if (!keep) {
		free(raw.at);
		return tw_fail(TW_ERR_MEMORY, "%s", name);
	}
	*keep = raw.at;
	return visit(r, b, raw.at, offset);
}

static int scan_blocks(struct tw_recording *r, ZSTD_DCtx *zstd, const char *name, tw_block_visit *visit, const struct tw_reader_file *f)
{
	uint64_t at = 0;
	while (at < f->n) {
		struct tw_file_block b;
		if (!tw_reader_header_at(f, at, TW_BLOCK_MAGIC, sizeof b)) {
			uint64_t next = tw_reader_next_header(f, at, TW_BLOCK_MAGIC, sizeof b);
			tw_reader_problem(r, next == f->n ? TW_ERR_TRUNCATED : TW_ERR_CHECKSUM,
			                  "%s: no whole block header at offset %llu, %llu bytes passed over", name, (unsigned long long)at,
			                  (unsigned long long)(next - at));
			at = next;
			continue;
		}
		memcpy(&b, f->bytes + at, sizeof b);
		if (f->n - at - sizeof b < b.stored) {
			tw_reader_problem(r, TW_ERR_TRUNCATED, "%s: the block at offset %llu", name, (unsigned long long)at);
			return TW_OK;
		}
		int error = add_block(r, zstd, name, visit, &b, f->bytes + at + sizeof b, at);
		if (error)
			return error;
		at += sizeof b + b.stored;
	}
	return TW_OK;
}

int tw_reader_blocks(struct tw_recording *r, const char *name, tw_block_visit *visit)
{
	struct tw_reader_file f;
	int error = tw_reader_map(r, name, &f);
	if (error)
		return error;
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	error = zstd ? scan_blocks(r, zstd, name, visit, &f) : tw_fail(TW_ERR_MEMORY, "%s", name);
	ZSTD_freeDCtx(zstd);
	tw_reader_unmap(&f);
	return error;
}

int tw_reader_code(struct tw_recording *r)
{
	int error = tw_reader_blocks(r, TW_CODE_FILE, tw_reader_add_block);
	if (error == TW_ERR_NOT_FOUND && r->info.format == TW_FORMAT_NONE)
		return TW_OK;
	if (error == TW_ERR_NOT_FOUND) {
		tw_reader_problem(r, TW_ERR_MISSING, TW_CODE_FILE);
		return TW_OK;
	}
	return error;
}
