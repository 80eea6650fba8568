/*
 * The use of memory that belongs to no file: stacks, which lie around a stack pointer, and heaps, which lie below an
 * end set by brk(2). As far as it was touched.
 */
#ifndef TW_KINDS_H
#define TW_KINDS_H

#include <trackway/context.h>

enum tw_kind { TW_KIND_OTHER, TW_KIND_STACK, TW_KIND_HEAP };

struct tw_kind_place;

/* All zeros is one that knows nothing. */
struct tw_kinds {
	struct tw_kind_place *places; /* pages with a stack pointer, and ends of heaps */
	size_t n, room;
};

/* An event of a process. 0 or TW_ERR_MEMORY. */
int tw_kinds_event(struct tw_kinds *k, uint32_t process, const struct tw_event *e);
int tw_kinds_merge(struct tw_kinds *k, const struct tw_kinds *later);

/* As bytes, and back into one that knows nothing (analyze/packed.h). */
int tw_kinds_pack(const struct tw_kinds *k, FILE *to);
int tw_kinds_unpack(struct tw_kinds *k, FILE *from);

/* The kinds of n pages, by their keys (pages.h), which are sorted. */
void tw_kinds_find(struct tw_kinds *k, const uint64_t *pages, size_t n, uint8_t *kinds);

/* "[stack]", "[heap]", "[anonymous]". */
const char *tw_kind_name(uint8_t kind);

void tw_kinds_free(struct tw_kinds *k);

#endif
