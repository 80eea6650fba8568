/*
 * mix: which instructions ran, by class, by opcode and by function; and the references they made: sizes, alignment.
 *
 * While batches come only executions of blocks are counted, and the alignment of references; replay does most of the
 * counting. The instructions are decoded at the end, once for each instruction of the recording's code. Executions of
 * the same code share a stretch: each stretch is processed once, with its count, at the end if it is permanent,
 * otherwise for each batch.
 */
#include "analyze/by_fragment.h"
#include "analyze/packed.h"
#include "analyzers/by_function.h"
#include "analyzers/kept.h"
#include "analyzers/spans.h"
#include "base/array.h"

#include <Zydis/Zydis.h>
#include <ctype.h>
#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>
#include <trackway/context.h>

/* Sizes are 1 << bucket bytes, and others. */
enum { SIZES = 7, OTHER_SIZE = SIZES, N_SIZES, LINE = 64, PAGE = 4096 };

/* Stretches that are counted at a time, and places for them. */
enum { NOTED = 2048, SLOTS = 2 * NOTED };

struct sizes {
	uint64_t reads[N_SIZES], writes[N_SIZES]; /* a modify is both */
	uint64_t misaligned[N_SIZES], lines[N_SIZES], pages[N_SIZES];
};

/* What one fragment has run. */
struct fragment {
	const struct tw_descriptor *descriptor;
	uint32_t thread;   /* one that ran it */
	uint64_t *partial; /* for each instruction, executions of blocks that were stopped before their end; NULL: there were none */
	struct tw_function_counts block[];
};

struct slot {
	const struct tw_stretch *stretch;
	uint64_t n;
};

struct state {
	const struct tw_context *context;
	struct tw_by_fragment fragments;
	struct tw_kept_stretches kept; /* own: its spans */
	struct tw_spans spans;
	struct sizes sizes;
	uint32_t thread;         /* of the batch */
	struct fragment *newest; /* the block that started last: references before a stretch's first block belong to it */
	unsigned newest_block;
	struct slot slots[SLOTS]; /* by stretch, while a batch is looked at */
	uint16_t used[NOTED];
	size_t n_used;
};

static void free_fragment(void *item)
{
	struct fragment *f = item;
	free(f->partial);
	free(f);
}

static void free_state(struct state *s)
{
	tw_by_fragment_free(&s->fragments, free_fragment);
	for (size_t i = 0; i < s->kept.room; i++)
		free(s->kept.items[i].own);
	tw_kept_stretches_free(&s->kept);
	tw_spans_free(&s->spans);
	free(s);
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (s)
		s->context = arg;
	return s;
}

static struct fragment *new_fragment(struct state *s, const struct tw_descriptor *d, uint32_t thread)
{
	struct fragment *f = calloc(1, sizeof *f + d->n_blocks * sizeof f->block[0]);
	if (!f || !tw_by_fragment_set(&s->fragments, d->number, f)) {
		free(f);
		return NULL;
	}
	f->descriptor = d;
	f->thread = thread;
	return f;
}

static inline struct fragment *fragment_of(struct state *s, const struct tw_descriptor *d, uint32_t thread)
{
	struct fragment *f = tw_by_fragment_get(&s->fragments, d->number);
	return f ? f : new_fragment(s, d, thread);
}

/* ---- references ---- */

static unsigned size_of(uint32_t bytes)
{
	unsigned bucket = (unsigned)__builtin_ctz(bytes | LINE);
	return bytes == 1u << bucket ? bucket : OTHER_SIZE;
}

/* The common part of a stretch's references, for n executions. */
static void count_shapes(struct state *s, struct tw_function_counts *c, const struct tw_ref_shape *r, const struct tw_ref_shape *end,
                         uint64_t n)
{
	for (; r < end; r++) {
		unsigned size = size_of(r->size);
		uint64_t reads = r->type & TW_READ ? n : 0, writes = r->type & TW_WRITE ? n : 0;
		s->sizes.reads[size] += reads;
		s->sizes.writes[size] += writes;
		c->reads += reads;
		c->writes += writes;
	}
}

/* A reference that is misaligned, or leaves its line. */
static void count_odd(struct sizes *sizes, uint64_t addr, uint32_t bytes)
{
	unsigned size = size_of(bytes);
	sizes->misaligned[size] += size != OTHER_SIZE && (addr & (bytes - 1));
	sizes->lines[size] += addr / LINE != (addr + bytes - 1) / LINE;
	sizes->pages[size] += addr / PAGE != (addr + bytes - 1) / PAGE;
}

/* The lowest bytes of four addresses, in 32 bits each. */
static inline __m128i low_bytes(const uint64_t *addr)
{
	const __m128 a = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)(const void *)addr));
	const __m128 b = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)(const void *)(addr + 2)));
	return _mm_and_si128(_mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0))), _mm_set1_epi32(0xff));
}

/* Those of so many as TW_SPANS_AT_ONCE. */
static inline __m128i all_low_bytes(const uint64_t *addr)
{
	return _mm_packus_epi16(_mm_packs_epi32(low_bytes(addr), low_bytes(addr + 4)),
	                        _mm_packs_epi32(low_bytes(addr + 8), low_bytes(addr + 12)));
}

/* Nearly all references are aligned, and aligned ones do not cross a line unless they are larger. */
static int any_odd(const uint8_t *spans, const uint64_t *addr, size_t n)
{
	const __m128i large = _mm_set1_epi8((char)~TW_SPAN_MOST);
	__m128i found = _mm_setzero_si128();
	unsigned odd = 0;
	for (; n >= TW_SPANS_AT_ONCE; n -= TW_SPANS_AT_ONCE, addr += TW_SPANS_AT_ONCE, spans += TW_SPANS_AT_ONCE) {
		const __m128i s = _mm_loadu_si128((const __m128i *)spans);
		found = _mm_or_si128(found, _mm_and_si128(s, _mm_or_si128(all_low_bytes(addr), large)));
	}
	for (size_t i = 0; i < n; i++)
		odd |= spans[i] & ((unsigned)addr[i] | ~(unsigned)TW_SPAN_MOST);
	return odd || _mm_movemask_epi8(_mm_cmpeq_epi8(found, _mm_setzero_si128())) != 0xffff;
}

static void count_alignment(struct sizes *sizes, const struct tw_batch *b)
{
	const uint64_t *addr = b->addr;
	for (size_t i = 0; i < b->n_stretches; i++) {
		const struct tw_ref_shape *r = b->stretches[i]->refs, *end = r + b->stretches[i]->n_refs;
		for (; r < end; r++, addr++)
			if ((*addr & (r->size - 1)) != 0 || r->size > LINE)
				count_odd(sizes, *addr, r->size);
	}
}

/* ---- blocks ---- */

static int count_partial(struct fragment *f, const struct tw_block_run *b, uint64_t n)
{
	const struct tw_descriptor *d = f->descriptor;
	if (!f->partial)
		f->partial = calloc(d->n_insns, sizeof *f->partial);
	if (!f->partial)
		return TW_ERR_MEMORY;
	for (unsigned i = 0; i < b->n_insns; i++)
		f->partial[tw_descriptor_blocks(d)[b->block].first_insn + i] += n;
	return 0;
}

static int count_block(struct state *s, const struct tw_block_run *b, uint64_t n)
{
	struct fragment *f = fragment_of(s, b->descriptor, s->thread);
	if (!f)
		return TW_ERR_MEMORY;
	s->newest = f;
	s->newest_block = b->block;
	f->block[b->block].insns += n * b->n_insns;
	if (b->n_insns == tw_descriptor_blocks(f->descriptor)[b->block].n_insns) {
		f->block[b->block].calls += n;
		return 0;
	}
	return b->n_insns ? count_partial(f, b, n) : 0;
}

/* A stretch that begins with a block. */
static int count_stretch(struct state *s, const struct tw_stretch *stretch, uint64_t n)
{
	for (uint32_t i = 0; i < stretch->n_blocks; i++) {
		const struct tw_block_run *b = &stretch->blocks[i];
		uint32_t end = i + 1 < stretch->n_blocks ? b[1].first_ref : stretch->n_refs;
		int error = count_block(s, b, n);
		if (error)
			return error;
		count_shapes(s, &s->newest->block[b->block], stretch->refs + b->first_ref, stretch->refs + end, n);
	}
	return 0;
}

static int count_noted(struct state *s)
{
	int error = 0;
	for (size_t i = 0; i < s->n_used; i++) {
		struct slot *slot = &s->slots[s->used[i]];
		if (!error)
			error = count_stretch(s, slot->stretch, slot->n);
		slot->n = 0;
	}
	s->n_used = 0;
	return error;
}

static int note_stretch(struct state *s, const struct tw_stretch *stretch)
{
	size_t i = ((uintptr_t)stretch >> 5 ^ (uintptr_t)stretch >> 17) % SLOTS;
	while (s->slots[i].n && s->slots[i].stretch != stretch)
		i = (i + 1) % SLOTS;
	if (!s->slots[i].n)
		s->used[s->n_used++] = (uint16_t)i;
	s->slots[i].stretch = stretch;
	s->slots[i].n++;
	return s->n_used < NOTED ? 0 : count_noted(s);
}

/* A permanent stretch, the first time. A thread that ran its fragment is known from then on, whose names hold for it. */
static int take_kept(struct state *s, const struct tw_stretch *stretch)
{
	struct tw_kept_stretch *kept = tw_kept_stretch(&s->kept, stretch);
	if (!kept)
		return TW_ERR_MEMORY;
	kept->n++;
	kept->stretch = stretch;
	kept->own = tw_spans_make(stretch);
	return kept->own && fragment_of(s, stretch->blocks[0].descriptor, s->thread) ? 0 : TW_ERR_MEMORY;
}

static int count_kept(struct state *s)
{
	int error = 0;
	for (size_t i = 0; i < s->kept.room && !error; i++) {
		struct tw_kept_stretch *kept = &s->kept.items[i];
		if (kept->n)
			error = count_stretch(s, kept->stretch, kept->n);
		kept->n = 0;
	}
	return error;
}

/* Can executions of the stretch be counted together? Its first references must not belong to a previous block. */
static int stands_alone(const struct tw_stretch *stretch)
{
	return stretch->n_blocks && !stretch->blocks[0].first_ref;
}

/* A stretch of which a part belongs to the block before it. */
static int take_joined(struct state *s, const struct tw_stretch *stretch)
{
	uint32_t first = stretch->n_blocks ? stretch->blocks[0].first_ref : stretch->n_refs;
	count_shapes(s, &s->newest->block[s->newest_block], stretch->refs, stretch->refs + first, 1);
	return count_stretch(s, stretch, 1);
}

/* The newest block of the stretches before number i. */
static int find_newest(struct state *s, const struct tw_batch *b, size_t i)
{
	while (i > 0 && !b->stretches[i - 1]->n_blocks)
		i--;
	if (!i)
		return 0; /* that of an earlier batch: only if this one has no references before its first block */
	const struct tw_block_run *last = &b->stretches[i - 1]->blocks[b->stretches[i - 1]->n_blocks - 1];
	s->newest = fragment_of(s, last->descriptor, s->thread);
	s->newest_block = last->block;
	return s->newest ? 0 : TW_ERR_MEMORY;
}

/* Number i of the batch, which is not a permanent one seen before. */
static int take_new(struct state *s, const struct tw_batch *b, size_t i)
{
	const struct tw_stretch *stretch = b->stretches[i];
	if (stands_alone(stretch))
		return stretch->number ? take_kept(s, stretch) : note_stretch(s, stretch);
	int error = find_newest(s, b, i);
	return error ? error : take_joined(s, stretch);
}

/* What replay has counted. */
static int take_counted(struct state *s, const struct tw_batch *b)
{
	for (size_t i = 0; i < b->n_odd; i++)
		count_odd(&s->sizes, b->odd[i].addr, b->odd[i].shape->size);
	for (size_t i = 0; i < b->n_counted; i++) {
		const struct tw_stretch *stretch = b->counted[i].stretch;
		struct tw_kept_stretch *kept = tw_kept_stretch(&s->kept, stretch);
		if (!kept || !fragment_of(s, stretch->blocks[0].descriptor, s->thread))
			return TW_ERR_MEMORY;
		kept->stretch = stretch;
		kept->n += b->counted[i].times;
	}
	return 0;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	int error = tw_spans_begin(&s->spans, b->n_refs);
	uint8_t *to = s->spans.of;
	s->thread = b->thread;
	if (!error)
		error = take_counted(s, b);
	for (size_t i = 0; i < b->n_stretches && !error; i++) {
		const struct tw_stretch *stretch = b->stretches[i];
		struct tw_kept_stretch *kept = stretch->number < s->kept.room ? &s->kept.items[stretch->number] : NULL;
		if (__builtin_expect(kept && kept->own, 1)) {
			kept->n++;
			to = tw_spans_put(to, kept->own, stretch->n_refs);
		} else {
			error = take_new(s, b, i);
			to = tw_spans_put_new(to, stretch);
		}
	}
	if (!error && any_odd(s->spans.of, b->addr, b->n_refs))
		count_alignment(&s->sizes, b);
	return error ? error : count_noted(s);
}

/* ---- merging ---- */

static int merge_fragment(void *state, void *item)
{
	const struct fragment *from = item;
	const struct tw_descriptor *d = from->descriptor;
	struct fragment *to = fragment_of(state, d, from->thread);
	if (!to)
		return TW_ERR_MEMORY;
	for (unsigned i = 0; i < d->n_blocks; i++)
		tw_function_counts_add(&to->block[i], &from->block[i]);
	if (from->partial && !to->partial)
		to->partial = calloc(d->n_insns, sizeof *to->partial);
	if (from->partial && !to->partial)
		return TW_ERR_MEMORY;
	for (unsigned i = 0; from->partial && i < d->n_insns; i++)
		to->partial[i] += from->partial[i];
	return 0;
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	const uint64_t *more = (const uint64_t *)&from->sizes;
	int error = count_kept(from);
	for (size_t i = 0; i < sizeof s->sizes / sizeof *more; i++)
		((uint64_t *)&s->sizes)[i] += more[i];
	if (!error)
		error = tw_by_fragment_each(&from->fragments, merge_fragment, s);
	free_state(from);
	return error;
}

/* ---- as bytes ---- */

static int count_fragment(void *context, void *item)
{
	(void)item;
	++*(uint64_t *)context;
	return 0;
}

static int pack_fragment(void *context, void *item)
{
	FILE *to = context;
	const struct fragment *f = item;
	const struct tw_descriptor *d = f->descriptor;
	int error = tw_pack_number(to, (uint64_t)f->thread << 32 | d->number);
	if (!error)
		error = tw_pack_array(to, f->block, d->n_blocks, sizeof f->block[0]);
	return error ? error : tw_pack_array(to, f->partial, f->partial ? d->n_insns : 0, sizeof *f->partial);
}

/* Counting what is kept changes the representation of the counts, not their values. */
static int pack(const void *state, FILE *to)
{
	struct state *s = (struct state *)state;
	uint64_t n = 0;
	int error = count_kept(s);
	tw_by_fragment_each(&s->fragments, count_fragment, &n);
	if (!error)
		error = tw_pack_bytes(to, &s->sizes, sizeof s->sizes);
	if (!error)
		error = tw_pack_number(to, n);
	return error ? error : tw_by_fragment_each(&s->fragments, pack_fragment, to);
}

/* The counts of one instruction or block each: as many as the fragment has, or none. */
static int unpack_counts(FILE *from, void *counts, uint64_t n, size_t size)
{
	uint64_t there;
	int error = tw_unpack_number(from, &there);
	return error ? error : there == n ? tw_unpack_bytes(from, counts, n * size) : there ? TW_ERR_DAMAGED : 0;
}

static int unpack_fragment(struct state *s, FILE *from)
{
	uint64_t number = 0;
	int error = tw_unpack_number(from, &number);
	const struct tw_descriptor *d = error ? NULL : tw_recording_descriptor(tw_context_recording(s->context), (uint32_t)number);
	if (!d)
		return error ? error : TW_ERR_DAMAGED;
	struct fragment *f = fragment_of(s, d, (uint32_t)(number >> 32));
	uint64_t *partial = calloc(d->n_insns, sizeof *partial);
	error = f && partial ? unpack_counts(from, f->block, d->n_blocks, sizeof f->block[0]) : TW_ERR_MEMORY;
	if (!error)
		error = unpack_counts(from, partial, d->n_insns, sizeof *partial);
	if (f) {
		free(f->partial);
		f->partial = partial;
	} else {
		free(partial);
	}
	return error;
}

static int unpack(void *state, FILE *from)
{
	struct state *s = state;
	uint64_t n = 0;
	int error = tw_unpack_bytes(from, &s->sizes, sizeof s->sizes);
	if (!error)
		error = tw_unpack_number(from, &n);
	for (; n && !error; n--)
		error = unpack_fragment(s, from);
	return error;
}

/* ---- what the instructions are ---- */

struct tally {
	const char *name;
	uint64_t n;
};

/* Executions by the decoder's numbers. */
struct opcodes {
	ZydisDecoder decoder;
	uint64_t n, unknown, locked;
	uint64_t class[ZYDIS_CATEGORY_MAX_VALUE + 1], opcode[ZYDIS_MNEMONIC_MAX_VALUE + 1];
};

static void take_insn(struct opcodes *o, const uint8_t *code, size_t bytes, uint64_t n)
{
	ZydisDecodedInstruction insn;
	o->n += n;
	if (!bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&o->decoder, NULL, code, bytes, &insn))) {
		o->unknown += n;
		return;
	}
	o->class[insn.meta.category] += n;
	o->opcode[insn.mnemonic] += n;
	o->locked += insn.attributes & ZYDIS_ATTRIB_HAS_LOCK ? n : 0;
}

static int take_opcodes(void *context, void *item)
{
	struct opcodes *o = context;
	const struct fragment *f = item;
	const struct tw_descriptor *d = f->descriptor;
	const struct tw_block *b = tw_descriptor_blocks(d);
	const uint8_t *bytes = tw_descriptor_insn_bytes(d), *code = tw_descriptor_code(d), *end = code + d->code_bytes;
	for (unsigned k = 0; k < d->n_blocks; k++) {
		for (unsigned i = b[k].first_insn; i < (unsigned)b[k].first_insn + b[k].n_insns; i++) {
			uint64_t n = f->block[k].calls + (f->partial ? f->partial[i] : 0);
			int there = (size_t)(end - code) >= bytes[i];
			if (n)
				take_insn(o, code, there ? bytes[i] : 0, n);
			code += there ? bytes[i] : 0;
		}
	}
	return 0;
}

static int most_first(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return strcmp(x->name, y->name);
}

static const char *class_name(size_t i)
{
	return ZydisCategoryGetString((ZydisInstructionCategory)i);
}

static const char *opcode_name(size_t i)
{
	return ZydisMnemonicGetString((ZydisMnemonic)i);
}

static void lower(char *to, size_t size, const char *s)
{
	size_t i = 0;
	for (; s[i] && i + 1 < size; i++)
		to[i] = (char)tolower((unsigned char)s[i]);
	to[i] = 0;
}

static void print_tallies(struct tw_answer *a, const struct opcodes *o, const uint64_t *counts, size_t n, const char *(*name)(size_t i))
{
	struct tally *tallies = calloc(n + 1, sizeof *tallies);
	size_t n_tallies = 0;
	char text[64];
	for (size_t i = 0; tallies && i < n; i++)
		if (counts[i])
			tallies[n_tallies++] = (struct tally){name(i), counts[i]};
	if (tallies && o->unknown)
		tallies[n_tallies++] = (struct tally){"(unknown)", o->unknown};
	if (tallies)
		qsort(tallies, n_tallies, sizeof *tallies, most_first);
	for (size_t i = 0; i < n_tallies; i++) {
		lower(text, sizeof text, tallies[i].name);
		tw_answer_row(a,
		              (struct tw_cell[]){{.count = tallies[i].n}, {.real = (double)tallies[i].n / (double)o->n}, {.text = text}});
	}
	free(tallies);
}

static void print_opcodes(struct tw_answer *a, const struct opcodes *o)
{
	static const struct tw_column classes[] = {
	    {"instructions", TW_COLUMN_COUNT}, {"share", TW_COLUMN_SHARE}, {"class", TW_COLUMN_TEXT}, {NULL, 0}};
	static const struct tw_column opcodes[] = {
	    {"instructions", TW_COLUMN_COUNT}, {"share", TW_COLUMN_SHARE}, {"opcode", TW_COLUMN_TEXT}, {NULL, 0}};
	tw_answer_table(a, "classes", "Instructions by class", classes);
	print_tallies(a, o, o->class, ZYDIS_CATEGORY_MAX_VALUE + 1, class_name);
	tw_answer_table(a, "opcodes", "Instructions by opcode", opcodes);
	print_tallies(a, o, o->opcode, ZYDIS_MNEMONIC_MAX_VALUE + 1, opcode_name);
}

static void print_sizes(struct tw_answer *a, const struct sizes *s)
{
	static const struct tw_column columns[] = {{"reads", TW_COLUMN_COUNT},
	                                           {"writes", TW_COLUMN_COUNT},
	                                           {"misaligned", TW_COLUMN_COUNT},
	                                           {"across_lines", TW_COLUMN_COUNT},
	                                           {"across_pages", TW_COLUMN_COUNT},
	                                           {"bytes", TW_COLUMN_TEXT},
	                                           {NULL, 0}};
	char bytes[16];
	tw_answer_table(a, "sizes", "References by size", columns);
	for (unsigned i = 0; i < N_SIZES; i++) {
		if (!s->reads[i] && !s->writes[i])
			continue;
		snprintf(bytes, sizeof bytes, i == OTHER_SIZE ? "other" : "%u", 1u << i);
		tw_answer_row(a, (struct tw_cell[]){{.count = s->reads[i]},
		                                    {.count = s->writes[i]},
		                                    {.count = s->misaligned[i]},
		                                    {.count = s->lines[i]},
		                                    {.count = s->pages[i]},
		                                    {.text = bytes}});
	}
}

static int take_functions(void *context, void *item)
{
	const struct fragment *f = item;
	int error = 0;
	for (unsigned k = 0; k < f->descriptor->n_blocks && !error; k++)
		if (f->block[k].insns || f->block[k].reads || f->block[k].writes)
			error = tw_by_function_add(context, f->thread, tw_descriptor_blocks(f->descriptor)[k].pc, &f->block[k]);
	return error;
}

static int print_all(struct state *s, struct opcodes *o)
{
	struct tw_answer *a = tw_context_answer(s->context);
	struct tw_by_function functions = {.context = s->context};
	int error = tw_by_fragment_each(&s->fragments, take_functions, &functions);
	ZydisDecoderInit(&o->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	tw_by_fragment_each(&s->fragments, take_opcodes, o);
	if (!error) {
		tw_answer_fact(a, "instructions", o->n);
		tw_answer_fact(a, "locked_instructions", o->locked);
		print_opcodes(a, o);
		print_sizes(a, &s->sizes);
		tw_by_function_print(&functions, a);
	}
	tw_by_function_free(&functions);
	return error;
}

static int end(void *state, int error)
{
	if (!error)
		error = count_kept(state);
	struct opcodes *o = error ? NULL : calloc(1, sizeof *o);
	if (!error)
		error = o ? print_all(state, o) : TW_ERR_MEMORY;
	free(o);
	free_state(state);
	return error;
}

const struct tw_analyzer tw_analyzer_mix = {
    .name = "mix",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "instructions by class, opcode and function; references by size",
    .help = "Classes and opcodes are those of the Zydis decoder. A modify counts as a read\n"
            "and a write. For recordings without references, the columns about them are 0.\n",
    .needs = TW_WANTS_COUNTS,
    .pack_version = 1,
    .pack = pack,
    .unpack = unpack,
};
