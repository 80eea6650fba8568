/* Changes blocks of the code file and of the names: descriptors, modules, processes, name tables. */
#include "change.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* What begins an item that is no descriptor has at most so many bytes. */
enum { HEAD = 80 };

/* A block on its way. */
struct block {
	struct tw_file_block head;
	struct tw_bytes raw;
};

/* Nothing need be aligned once it has been changed. */
static size_t item_bytes(const struct block *b, size_t at)
{
	const uint8_t *item = b->raw.at + at;
	size_t left = b->raw.n - at, n = left;
	union {
		struct tw_descriptor descriptor;
		struct tw_file_module module;
		struct tw_file_note note;
	} u = {0};
	memcpy(&u, item, left < sizeof u ? left : sizeof u);
	if (b->head.kind == TW_BLOCK_DESCRIPTORS)
		n = u.descriptor.bytes;
	else if (b->head.kind == TW_BLOCK_MODULES)
		n = sizeof u.module + u.module.path_bytes;
	else if (b->head.kind == TW_BLOCK_PROCESSES)
		n = sizeof u.note + u.note.text_bytes;
	return n && n < left ? n : left;
}

static size_t count_items(const struct block *b)
{
	size_t n = 0;
	for (size_t at = 0; at < b->raw.n; at += item_bytes(b, at))
		n++;
	return n;
}

static size_t any_item(const struct block *b)
{
	size_t at = 0;
	for (size_t k = below(count_items(b)); k; k--)
		at += item_bytes(b, at);
	return at;
}

/* Where the parts of a descriptor begin. */
struct parts {
	struct tw_descriptor d;
	size_t blocks, ops, insns, end;
};

static struct parts parts_of(const struct tw_bytes *raw, size_t at, size_t n)
{
	struct parts p = {0};
	memcpy(&p.d, raw->at + at, n < sizeof p.d ? n : sizeof p.d);
	p.blocks = at + sizeof p.d;
	p.ops = p.blocks + p.d.n_blocks * sizeof(struct tw_block);
	p.insns = p.ops + p.d.n_ops * sizeof(struct tw_op);
	p.end = p.insns + p.d.n_insns + p.d.code_bytes;
	return p;
}

/* A part of a descriptor: itself, a block, an operation, lengths and code. */
static void change_part(struct tw_bytes *raw, size_t at, const struct parts *p)
{
	switch (below(6)) {
	case 0:
		twist(raw->at + at, sizeof p->d);
		break;
	case 1:
		twist(raw->at + p->blocks + below(p->d.n_blocks) * sizeof(struct tw_block), sizeof(struct tw_block));
		break;
	case 2:
		twist(raw->at + p->insns, p->end - p->insns);
		break;
	default:
		if (p->d.n_ops)
			twist(raw->at + p->ops + below(p->d.n_ops) * sizeof(struct tw_op), sizeof(struct tw_op));
	}
}

/* Another kind of operation, with what it needs where the old one had something else. */
static void change_kind(struct tw_bytes *raw, const struct parts *p)
{
	struct tw_op op;
	uint8_t *at = raw->at + p->ops + below(p->d.n_ops) * sizeof op;
	if (!p->d.n_ops)
		return;
	memcpy(&op, at, sizeof op);
	op.kind = (uint8_t)below(TW_NOPS);
	op.base = (uint8_t)below(TW_NREGS);
	op.index = (uint8_t)below(TW_NREGS);
	op.type = (uint8_t)(1 + below(3));
	op.flags = (uint8_t)(once_in(2) ? 0 : random64());
	op.size = 1u << below(once_in(3) ? 32 : 5);
	op.count = (uint16_t)below(once_in(3) ? 65 : TW_NREGS);
	op.value = op.mask_value = (uint16_t)below(p->d.n_values);
	op.index_width = op.mask_width = (uint8_t)(once_in(2) ? 0 : 1 << below(4));
	memcpy(at, &op, sizeof op);
}

static void change_descriptor(struct tw_bytes *raw, size_t at, size_t n)
{
	const struct parts p = parts_of(raw, at, n);
	if (p.end > at + n)
		twist(raw->at + at, n);
	else if (once_in(3))
		change_kind(raw, &p);
	else
		change_part(raw, at, &p);
}

static void change_block(struct block *b)
{
	size_t at = any_item(b), n = b->raw.n - at ? item_bytes(b, at) : 0, gone;
	if (!n)
		return;
	switch (below(10)) {
	case 0:
		replace(&b->raw, at, n, NULL, 0);
		break;
	case 1:
		replace(&b->raw, any_item(b), 0, b->raw.at + at, n);
		break;
	case 2:
		twist(&b->head.version, 2 * sizeof b->head.version); /* and kind */
		break;
	case 3:
		twist(b->raw.at + at, n);
		break;
	case 4:
		gone = below(n);
		replace(&b->raw, at + gone, once_in(2) ? n - gone : 0, b->raw.at + at, gone);
		break;
	default:
		if (b->head.kind == TW_BLOCK_DESCRIPTORS)
			change_descriptor(&b->raw, at, n);
		else
			twist(b->raw.at + at, n < HEAD ? n : HEAD);
	}
}

/* Puts the block at the end of *to. Once in a while its header promises more or less than there is. */
static void put_block(struct block *b, int lies, struct tw_bytes *to)
{
	struct tw_bytes stored = {0};
	compress(&b->raw, &stored);
	b->head.raw = b->raw.n;
	b->head.stored = stored.n;
	b->head.section_check = XXH64(stored.at, stored.n, 0);
	if (lies)
		twist(&b->head.raw, 2 * sizeof b->head.raw);
	b->head.check = XXH64(&b->head, offsetof(struct tw_file_block, check), 0);
	if (tw_bytes_append(to, &b->head, sizeof b->head) || tw_bytes_append(to, stored.at, stored.n))
		die("memory");
	free(stored.at);
}

static size_t count_blocks(const struct tw_bytes *file)
{
	struct tw_file_block head;
	size_t n = 0;
	for (size_t at = 0; at < file->n; n++) {
		memcpy(&head, file->at + at, sizeof head);
		at += sizeof head + head.stored;
	}
	return n;
}

void copy_blocks(int from, int to, const char *name, int changes)
{
	struct tw_bytes file = {0}, out = {0};
	read_file(from, name, &file);
	size_t changed = below(count_blocks(&file));
	for (size_t at = 0, i = 0; at < file.n; i++) {
		struct block b = {0};
		memcpy(&b.head, file.at + at, sizeof b.head);
		decompress(file.at + at + sizeof b.head, b.head.stored, b.head.raw, &b.raw);
		at += sizeof b.head + b.head.stored;
		for (size_t k = changes && i == changed ? 1 + below(4) : 0; k; k--)
			change_block(&b);
		put_block(&b, changes && i == changed && once_in(20), &out);
		free(b.raw.at);
	}
	write_file(to, name, &out);
	free(file.at);
	free(out.at);
}
