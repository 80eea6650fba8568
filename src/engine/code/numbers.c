#include "engine/code/numbers.h"
#include "engine/heap.h"
#include "engine/record/instrumentor.h"

static struct fragment **numbered[65536]; /* by upper half, then by lower */

/* Fragments by tag: a lossy table. */
#define TAG_ENTRIES (1u << 19)
static struct fragment **tagged;

static struct fragment **tag_slot(u32 tag)
{
	return &tagged[(tag * 0x9e3779b1u) >> 13 & (TAG_ENTRIES - 1)];
}

static void note_tag(struct fragment *f)
{
	if (!tagged)
		__atomic_store_n(&tagged, tw_heap(TAG_ENTRIES * sizeof *tagged), __ATOMIC_RELEASE);
	__atomic_store_n(tag_slot(f->rec.tag), f, __ATOMIC_RELEASE);
}

struct fragment *tw_fragment_tagged(u32 tag)
{
	struct fragment *f = __atomic_load_n(&tagged, __ATOMIC_ACQUIRE) ? __atomic_load_n(tag_slot(tag), __ATOMIC_ACQUIRE) : NULL;
	return f && f->rec.tag == tag ? f : NULL;
}

struct fragment ***tw_numbers_row(u32 upper)
{
	return &numbered[upper];
}

static void number_fragment(struct fragment *f)
{
	struct fragment ***row = tw_numbers_row(f->rec.number >> 16);
	if (!*row)
		*row = tw_heap(65536 * sizeof **row);
	for (u32 k = 0; k < tw_path_count(&f->rec); k++)
		(*row)[(f->rec.number + k) & 0xffff] = f;
}

struct fragment *tw_fragment_numbered(u32 number)
{
	struct fragment **row = numbered[number >> 16];
	return row ? row[number & 0xffff] : NULL;
}

void tw_numbers_enter(struct fragment *f)
{
	if (!tw_instr()->records)
		return;
	if (f->rec.descriptor)
		note_tag(f);
	else if (!tw_tags_used())
		number_fragment(f);
}

void tw_numbers_forget(void)
{
	memset(numbered, 0, sizeof numbered);
	tagged = NULL;
}
