#include "analyzers/shadow.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

enum { PAGE_BITS = 12, PAGE = 1 << PAGE_BITS };

struct tw_shadow_page {
	unsigned bits; /* an entry is for 1 << bits bytes */
	struct tw_written *entries;
};

static const struct tw_written nobody;

/* ---- pages ---- */

static size_t n_entries(unsigned bits)
{
	return PAGE >> bits;
}

/* The page of an address; NULL: there is none, or no memory for a new one. */
static struct tw_shadow_page *page_of(struct tw_shadow *s, uint32_t process, uint64_t address, int make)
{
	uint64_t key = address >> PAGE_BITS;
	if (s->newest_key == key + 1 && s->newest_process == process)
		return s->newest;
	uint32_t number = make ? tw_rows_number(&s->numbers, key, process) : tw_rows_find(&s->numbers, key, process);
	if (number == TW_ROWS_NONE)
		return NULL;
	if (number == s->n_pages) {
		struct tw_shadow_page **pages = tw_array_room(s->pages, s->n_pages, &s->room, sizeof(struct tw_shadow_page *));
		struct tw_shadow_page *page = calloc(1, sizeof *page);
		s->pages = pages ? pages : s->pages;
		if (!pages || !page) {
			free(page);
			return NULL;
		}
		pages[s->n_pages++] = page;
	}
	s->newest = s->pages[number];
	s->newest_key = key + 1;
	s->newest_process = process;
	return s->newest;
}

/* Makes entries for pieces of 1 << bits bytes. 0: no memory. */
static int refine(struct tw_shadow_page *p, unsigned bits)
{
	struct tw_written *entries = calloc(n_entries(bits), sizeof *entries);
	if (!entries)
		return 0;
	for (size_t i = 0; p->entries && i < n_entries(bits); i++)
		entries[i] = p->entries[i << bits >> p->bits];
	free(p->entries);
	p->entries = entries;
	p->bits = bits;
	return 1;
}

/* The largest pieces that these bytes are made of. */
static unsigned bits_for(uint64_t address, uint64_t bytes)
{
	uint64_t odd = address | bytes;
	return odd % 4 ? 0 : odd % 8 ? 2 : 3;
}

static int write_page(struct tw_shadow_page *p, uint64_t address, uint64_t bytes, const struct tw_written *by)
{
	unsigned bits = bits_for(address, bytes);
	if ((!p->entries || bits < p->bits) && !refine(p, bits))
		return TW_ERR_MEMORY;
	size_t first = (address & (PAGE - 1)) >> p->bits, n = bytes >> p->bits;
	for (size_t i = 0; i < n; i++)
		p->entries[first + i] = *by;
	return 0;
}

/* ---- bytes ---- */

/* How many of the bytes are in the first page. */
static uint64_t in_page(uint64_t address, uint64_t bytes)
{
	uint64_t left = PAGE - (address & (PAGE - 1));
	return bytes < left ? bytes : left;
}

int tw_shadow_write(struct tw_shadow *s, uint32_t process, uint64_t address, uint64_t bytes, const struct tw_written *by)
{
	int error = 0;
	for (uint64_t n; bytes && !error; address += n, bytes -= n) {
		n = in_page(address, bytes);
		struct tw_shadow_page *p = page_of(s, process, address, 1);
		error = p ? write_page(p, address, n, by) : TW_ERR_MEMORY;
	}
	return error;
}

/* What is known of pages that are whole among these bytes, of which there are more than pages. */
static void forget_whole(struct tw_shadow *s, uint32_t process, uint64_t address, uint64_t bytes)
{
	for (size_t i = 0; i < s->n_pages; i++) {
		const uint64_t *key = tw_rows_key(&s->numbers, i);
		if (key[1] != process || (key[0] << PAGE_BITS) - address > bytes - PAGE)
			continue;
		free(s->pages[i]->entries);
		s->pages[i]->entries = NULL;
	}
}

int tw_shadow_forget(struct tw_shadow *s, uint32_t process, uint64_t address, uint64_t bytes)
{
	int error = 0;
	if (bytes >> PAGE_BITS > s->n_pages) { /* what is mapped begins and ends with a page */
		forget_whole(s, process, address, bytes);
		return 0;
	}
	for (uint64_t n; bytes && !error; address += n, bytes -= n) {
		n = in_page(address, bytes);
		struct tw_shadow_page *p = page_of(s, process, address, 0);
		if (p && p->entries)
			error = write_page(p, address, n, &nobody);
	}
	return error;
}

const struct tw_written *tw_shadow_read(struct tw_shadow *s, uint32_t process, uint64_t address, uint64_t *bytes)
{
	const struct tw_shadow_page *p = page_of(s, process, address, 0);
	uint64_t end = in_page(address, *bytes);
	if (!p || !p->entries) {
		*bytes = end;
		return &nobody;
	}
	uint64_t piece = (1ull << p->bits) - (address & ((1ull << p->bits) - 1));
	*bytes = piece < end ? piece : end;
	return &p->entries[(address & (PAGE - 1)) >> p->bits];
}

void tw_shadow_free(struct tw_shadow *s)
{
	for (size_t i = 0; i < s->n_pages; i++) {
		free(s->pages[i]->entries);
		free(s->pages[i]);
	}
	free(s->pages);
	tw_rows_free(&s->numbers);
}
