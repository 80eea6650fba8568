#include "analyzers/heap_blocks.h"
#include "analyzers/pages.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <trackway/recording.h>

enum { UNIT = 8, PAGE = 1 << TW_PAGE_BITS, PAGE_UNITS = PAGE / UNIT };

struct tw_heap_page {
	uint64_t key;
	uint32_t whole; /* where `of` is NULL: the block that all of it belongs to */
	uint32_t *of;
};

/* ---- pages ---- */

static size_t place_of(const struct tw_heap_blocks *b, uint64_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (b->pages_room - 1);
	while (b->pages[i] && b->pages[i]->key != key)
		i = (i + 1) & (b->pages_room - 1);
	return i;
}

static int grow(struct tw_heap_blocks *b)
{
	enum { FIRST = 256 };
	struct tw_heap_blocks more = {.pages_room = b->pages_room ? 2 * b->pages_room : FIRST};
	more.pages = calloc(more.pages_room, sizeof(struct tw_heap_page *));
	if (!more.pages)
		return 0;
	for (size_t i = 0; i < b->pages_room; i++)
		if (b->pages[i])
			more.pages[place_of(&more, b->pages[i]->key)] = b->pages[i];
	free(b->pages);
	b->pages = more.pages;
	b->pages_room = more.pages_room;
	return 1;
}

static struct tw_heap_page *find_page(struct tw_heap_blocks *b, uint64_t key)
{
	const size_t r = key % (sizeof b->recent / sizeof b->recent[0]);
	if (b->recent[r].key != key + 1) {
		b->recent[r].key = key + 1;
		b->recent[r].page = b->pages_room ? b->pages[place_of(b, key)] : NULL;
	}
	return b->recent[r].page;
}

static struct tw_heap_page *make_page(struct tw_heap_blocks *b, uint64_t key)
{
	struct tw_heap_page *p = find_page(b, key);
	if (p)
		return p;
	if (2 * b->n_pages >= b->pages_room && !grow(b))
		return NULL;
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->key = key;
	b->pages[place_of(b, key)] = p;
	b->n_pages++;
	b->recent[key % (sizeof b->recent / sizeof b->recent[0])].key = 0;
	return p;
}

/* ---- whose ---- */

/* A block loses some of its memory to another. */
static int lose(struct tw_heap_blocks *b, uint32_t number, uint64_t units)
{
	struct tw_heap_block *block = &b->items[number];
	if (!number || (block->units -= units))
		return 0;
	free(block->is_read);
	block->is_read = NULL;
	uint32_t *numbers = tw_array_room(b->free_numbers, b->n_free, &b->free_room, sizeof *numbers);
	if (!numbers)
		return TW_ERR_MEMORY;
	b->free_numbers = numbers;
	numbers[b->n_free++] = number;
	return 0;
}

static int set_whole(struct tw_heap_blocks *b, struct tw_heap_page *p, uint32_t number)
{
	int error = 0;
	for (unsigned i = 0; p->of && i < PAGE_UNITS && !error; i++)
		error = lose(b, p->of[i], 1);
	if (!p->of)
		error = lose(b, p->whole, PAGE_UNITS);
	free(p->of);
	p->of = NULL;
	p->whole = number;
	return error;
}

static int set_part(struct tw_heap_blocks *b, struct tw_heap_page *p, unsigned from, unsigned to, uint32_t number)
{
	int error = 0;
	if (!p->of) {
		p->of = malloc(PAGE_UNITS * sizeof *p->of);
		if (!p->of)
			return TW_ERR_MEMORY;
		for (unsigned i = 0; i < PAGE_UNITS; i++)
			p->of[i] = p->whole;
	}
	for (unsigned i = from; i < to && !error; i++) {
		error = lose(b, p->of[i], 1);
		p->of[i] = number;
	}
	return error;
}

static int set_range(struct tw_heap_blocks *b, uint32_t process, uint64_t start, uint64_t end, uint32_t number)
{
	int error = 0;
	for (uint64_t at = start; at < end && !error;) {
		const uint64_t page_end = (at | (PAGE - 1)) + 1, to = page_end < end ? page_end : end;
		struct tw_heap_page *p = make_page(b, tw_page_key(process, at));
		if (!p)
			return TW_ERR_MEMORY;
		if (to - at == PAGE)
			error = set_whole(b, p, number);
		else
			error = set_part(b, p, (unsigned)(at % PAGE / UNIT), (unsigned)((to - 1) % PAGE / UNIT + 1), number);
		at = to;
	}
	return error;
}

static uint32_t new_number(struct tw_heap_blocks *b)
{
	if (b->n_free)
		return b->free_numbers[--b->n_free];
	struct tw_heap_block *items = tw_array_zeros(b->items, b->n + 1, &b->room, sizeof *items);
	if (!items)
		return 0;
	b->items = items;
	return (uint32_t)++b->n;
}

uint32_t tw_heap_blocks_add(struct tw_heap_blocks *b, uint32_t process, uint64_t addr, uint64_t bytes)
{
	const uint64_t start = addr & ~(uint64_t)(UNIT - 1), end = (addr + (bytes ? bytes : 1) + UNIT - 1) & ~(uint64_t)(UNIT - 1);
	const uint32_t number = new_number(b);
	if (!number)
		return 0;
	b->items[number] = (struct tw_heap_block){.addr = addr,
	                                          .bytes = bytes,
	                                          .usable = bytes,
	                                          .serial = ++b->serial,
	                                          .process = process,
	                                          .units = (end - start) / UNIT,
	                                          .live = 1};
	return set_range(b, process, start, end, number) ? 0 : number;
}

int tw_heap_blocks_widen(struct tw_heap_blocks *b, uint32_t number, uint64_t usable)
{
	struct tw_heap_block *block = &b->items[number];
	const uint64_t end = (block->addr & ~(uint64_t)(UNIT - 1)) + block->units * UNIT,
	               to = (block->addr + usable + UNIT - 1) & ~(uint64_t)(UNIT - 1);
	if (usable <= block->usable)
		return 0;
	block->usable = usable;
	block->units += to > end ? (to - end) / UNIT : 0;
	return set_range(b, block->process, end, to, number);
}

uint32_t tw_heap_blocks_at(struct tw_heap_blocks *b, uint32_t process, uint64_t addr)
{
	const struct tw_heap_page *p = find_page(b, tw_page_key(process, addr));
	if (!p)
		return 0;
	return p->of ? p->of[addr % PAGE / UNIT] : p->whole;
}

int tw_heap_blocks_near(struct tw_heap_blocks *b, uint32_t process, uint64_t addr)
{
	return find_page(b, tw_page_key(process, addr)) != NULL;
}

/* What freed blocks have of a page is nobody's. */
static int forget_page(struct tw_heap_blocks *b, struct tw_heap_page *p)
{
	int error = 0;
	if (!p->of && p->whole && !b->items[p->whole].live) {
		error = lose(b, p->whole, PAGE_UNITS);
		p->whole = 0;
	}
	for (unsigned i = 0; p->of && i < PAGE_UNITS && !error; i++)
		if (p->of[i] && !b->items[p->of[i]].live) {
			error = lose(b, p->of[i], 1);
			p->of[i] = 0;
		}
	return error;
}

int tw_heap_blocks_forget(struct tw_heap_blocks *b, uint32_t process, uint64_t start, uint64_t end)
{
	const uint64_t first = tw_page_key(process, start), last = tw_page_key(process, end - 1);
	int error = 0;
	for (uint64_t key = first; last - first < b->pages_room && key <= last && !error; key++) {
		struct tw_heap_page *p = find_page(b, key);
		error = p ? forget_page(b, p) : 0;
	}
	for (size_t i = 0; last - first >= b->pages_room && i < b->pages_room && !error; i++)
		if (b->pages[i] && b->pages[i]->key >= first && b->pages[i]->key <= last)
			error = forget_page(b, b->pages[i]);
	return error;
}

/* ---- what was read ---- */

int tw_heap_blocks_read(struct tw_heap_block *block, uint64_t from, uint64_t n)
{
	if (from >= block->bytes)
		return 0;
	if (!block->is_read)
		block->is_read = calloc(block->bytes / 64 + 1, sizeof *block->is_read);
	if (!block->is_read)
		return TW_ERR_MEMORY;
	n = n < block->bytes - from ? n : block->bytes - from;
	for (uint64_t at = from; at < from + n;) {
		const uint64_t here = 64 - at % 64 < from + n - at ? 64 - at % 64 : from + n - at;
		block->is_read[at / 64] |= (here < 64 ? (1ull << here) - 1 : ~0ull) << at % 64;
		at += here;
	}
	return 0;
}

uint64_t tw_heap_blocks_unread(const struct tw_heap_block *block)
{
	uint64_t n = block->bytes;
	for (uint64_t i = 0; block->is_read && i <= block->bytes / 64; i++)
		n -= (uint64_t)__builtin_popcountll(block->is_read[i]);
	return n;
}

int tw_heap_blocks_syscall(struct tw_heap_blocks *b, uint32_t process, const struct tw_syscall *call)
{
	if (call->result <= 0 || (call->number != SYS_mmap && call->number != SYS_mremap))
		return 0;
	const uint64_t bytes = call->args[call->number == SYS_mmap ? 1 : 2], at = (uint64_t)call->result;
	const int stays = call->number == SYS_mremap && at == call->args[0];
	return bytes && !stays ? tw_heap_blocks_forget(b, process, at, at + bytes) : 0;
}

void tw_heap_blocks_free(struct tw_heap_blocks *b)
{
	for (size_t i = 0; i < b->pages_room; i++) {
		if (b->pages[i])
			free(b->pages[i]->of);
		free(b->pages[i]);
	}
	for (size_t i = 1; i <= b->n; i++)
		free(b->items[i].is_read);
	free(b->pages);
	free(b->items);
	free(b->free_numbers);
	memset(b, 0, sizeof *b);
}
