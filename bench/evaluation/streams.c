/*
 * The streams of the paper on Adept, of one recording in format dep, and how small they become: streams DIR SCRATCH. With --threads DIR: what each thread did.
 *
 * BB_pc is the 4-byte address of each block, DEP_C the paper's tags (the lower halves of those addresses, with escapes where the upper half changes), CF_bit a bit for
 * each conditional branch and the 4-byte target of each indirect one, Mem_addr the 8-byte address of each reference; C and M are the recording's own streams before its transform.
 *
 * Writes each to the file SCRATCH and prints `STREAM CODER BYTES`, where the coder is raw, bzip2, zstd (-19), or sequitur: the grammar of the stream's units,
 * each symbol of which takes as many bits as its frequency says (an arithmetic coder without memory comes that near), and each different unit its own bytes once.
 */
#include "analyze/sequitur.h"
#include "recording/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <trackway/replay.h>

enum stream { BB_PC, DEP_C, CF_BIT, MEM_ADDR, C, M, N_STREAMS };
static const char *const names[] = {"BB_pc", "DEP_C", "CF_bit", "Mem_addr", "C", "M"};
static const unsigned widths[] = {4, 2, 4, 8, 2, 8};
enum { MOST_SYMBOLS = 1 << 22 };

struct out {
	FILE *f;
	enum stream stream;
	uint32_t upper; /* DEP_C: the upper half in force */
	uint32_t bits;  /* CF_bit: of the word that is not full */
	unsigned n_bits;
	const struct tw_block *last; /* the block before; NULL: none, or it stopped early */
};

static void put(struct out *o, uint64_t v)
{
	fwrite(&v, widths[o->stream], 1, o->f);
}

static void put_tag(struct out *o, uint32_t pc)
{
	if (pc >> 16 != o->upper) {
		o->upper = pc >> 16;
		put(o, 0);
		put(o, o->upper);
	}
	if (!(pc & 0xffff))
		put(o, 0);
	put(o, pc & 0xffff);
}

static void put_bit(struct out *o, unsigned bit)
{
	o->bits |= bit << o->n_bits;
	if (++o->n_bits == 32) {
		put(o, o->bits);
		o->bits = o->n_bits = 0;
	}
}

/* How the block before this one went on. */
static void put_way(struct out *o, uint64_t pc)
{
	const struct tw_block *b = o->last;
	if (b && b->end == TW_END_COND)
		put_bit(o, pc != b->pc + b->bytes);
	else if (b && (b->end == TW_END_IJUMP || b->end == TW_END_ICALL || b->end == TW_END_RETURN))
		put(o, (uint32_t)pc);
}

static void put_block(struct out *o, const struct tw_block_run *run)
{
	const struct tw_block *b = &tw_descriptor_blocks(run->descriptor)[run->block];
	if (!run->n_insns)
		return;
	if (o->stream == BB_PC)
		put(o, (uint32_t)b->pc);
	else if (o->stream == DEP_C)
		put_tag(o, (uint32_t)b->pc);
	else
		put_way(o, b->pc);
	o->last = run->n_insns == b->n_insns ? b : NULL;
}

static void *begin(void *arg)
{
	return arg;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct out *o = state;
	if (o->stream == MEM_ADDR)
		return fwrite(b->addr, sizeof *b->addr, b->n_refs, o->f) == b->n_refs ? 0 : 1;
	const struct tw_block_run *runs = tw_batch_blocks(b);
	for (size_t i = 0; i < b->n_blocks; i++)
		put_block(o, &runs[i]);
	return 0;
}

static int merge(void *state, void *later)
{
	(void)state;
	(void)later;
	return 0;
}

static int end(void *state, int error)
{
	struct out *o = state;
	if (o->stream == CF_BIT && o->n_bits)
		put(o, o->bits);
	return error;
}

/* One of the recording's own streams. */
static int put_own(const struct tw_recording *r, struct out *o)
{
	int error = 0;
	for (size_t t = 0; t < tw_recording_n_threads(r); t++) {
		for (size_t c = 0; c < tw_recording_thread(r, t)->n_chunks && !error; c++) {
			struct tw_chunk chunk;
			error = tw_recording_chunk(r, t, c, &chunk);
			if (!error && o->stream == C)
				fwrite(chunk.c, sizeof *chunk.c, chunk.n_c, o->f);
			else if (!error)
				fwrite(chunk.m, sizeof *chunk.m, chunk.n_m, o->f);
			tw_chunk_release(&chunk);
		}
	}
	return error;
}

/* ---- Sequitur ---- */

/* Different units of a stream, numbered from 1 in the order in which they come. */
struct units {
	uint64_t *unit;
	uint32_t *number;
	size_t room, n;
};

static size_t place_of(const struct units *u, uint64_t unit)
{
	size_t i = (size_t)(unit * 0x9e3779b97f4a7c15ull >> 20) & (u->room - 1);
	while (u->number[i] && u->unit[i] != unit)
		i = (i + 1) & (u->room - 1);
	return i;
}

static void grow(struct units *u)
{
	struct units larger = {.room = u->room ? 2 * u->room : 1 << 16, .n = u->n};
	larger.unit = calloc(larger.room, sizeof *larger.unit);
	larger.number = calloc(larger.room, sizeof *larger.number);
	if (!larger.unit || !larger.number)
		exit((fputs("streams: no memory\n", stderr), 1));
	for (size_t i = 0; i < u->room; i++) {
		if (!u->number[i])
			continue;
		const size_t to = place_of(&larger, u->unit[i]);
		larger.unit[to] = u->unit[i];
		larger.number[to] = u->number[i];
	}
	free(u->unit);
	free(u->number);
	*u = larger;
}

static uint32_t number_of(struct units *u, uint64_t unit)
{
	if (2 * u->n >= u->room)
		grow(u);
	const size_t i = place_of(u, unit);
	if (!u->number[i]) {
		u->unit[i] = unit;
		u->number[i] = (uint32_t)++u->n;
	}
	return u->number[i];
}

/* Bits that the grammar's symbols take by their frequencies; each rule ends with a symbol of its own. */
static double grammar_bits(const struct tw_sequitur *s, size_t n_units)
{
	const uint32_t rules = tw_sequitur_rules(s);
	uint64_t *count = calloc(n_units + rules + 2, sizeof *count), all = 0;
	double bits = 0;
	for (uint32_t r = 0; r < rules && count; r++) {
		if (r && !tw_sequitur_uses(s, r))
			continue;
		for (uint32_t at = tw_sequitur_first(s, r); at; at = tw_sequitur_next(s, at), all++) {
			const uint32_t symbol = tw_sequitur_symbol(s, at);
			count[symbol < TW_GRAMMAR_RULE ? symbol : n_units + 2 + (symbol - TW_GRAMMAR_RULE)]++;
		}
		count[n_units + 1]++;
		all++;
	}
	for (size_t i = 0; i < n_units + rules + 2 && count; i++)
		bits += count[i] ? (double)count[i] * log2((double)all / (double)count[i]) : 0;
	free(count);
	return bits;
}

static double sequitur_bytes(FILE *f, unsigned width)
{
	struct units units = {0};
	struct tw_sequitur *s = tw_sequitur_new(MOST_SYMBOLS);
	double bits = 0;
	uint64_t unit = 0;
	rewind(f);
	while (s && fread(&unit, width, 1, f) == 1) {
		if (tw_sequitur_full(s)) {
			bits += grammar_bits(s, units.n);
			tw_sequitur_clear(s);
		}
		tw_sequitur_push(s, number_of(&units, unit));
	}
	bits += s ? grammar_bits(s, units.n) : 0;
	tw_sequitur_free(s);
	free(units.unit);
	free(units.number);
	return bits / 8 + (double)(units.n * width);
}

/* ---- all of it ---- */

/* A coder at work on a file. */
static FILE *begin_coder(const char *command, const char *path)
{
	char line[4200];
	snprintf(line, sizeof line, "%s <'%s' | wc -c", command, path);
	return popen(line, "r");
}

static void print_coded(const char *stream, const char *coder, FILE *f)
{
	unsigned long long bytes = 0;
	if (f && fscanf(f, "%llu", &bytes) == 1)
		printf("%s %s %llu\n", stream, coder, bytes);
	if (f)
		pclose(f);
}

/* What each thread did: its blocks and references, and the bytes of its own streams before the transform. */
static void print_threads(const struct tw_recording *r)
{
	for (size_t i = 0; i < tw_recording_n_threads(r); i++) {
		const struct tw_thread_info *t = tw_recording_thread(r, i);
		printf("%u %llu %llu %llu %llu\n", t->serial, (unsigned long long)t->totals.blocks, (unsigned long long)t->totals.refs,
		       (unsigned long long)t->totals.raw[TW_STREAM_C], (unsigned long long)t->totals.raw[TW_STREAM_M]);
	}
}

static int do_stream(const struct tw_recording *r, enum stream stream, const char *path)
{
	static const struct tw_analyzer writer = {.name = "streams", .begin = begin, .batch = batch, .merge = merge, .end = end};
	struct out o = {.f = fopen(path, "w+"), .stream = stream};
	if (!o.f)
		return perror(path), 1;
	int error = stream == C || stream == M ? put_own(r, &o) : tw_replay(r, NULL, &writer, &o);
	fflush(o.f);
	printf("%s raw %ld\n", names[stream], ftell(o.f));
	fflush(stdout);
	FILE *bzip2 = begin_coder("bzip2 -9c", path), *zstd = begin_coder("zstd -q -19 -c", path); /* meanwhile: only sizes are measured */
	printf("%s sequitur %.0f\n", names[stream], sequitur_bytes(o.f, widths[stream]));
	fclose(o.f);
	print_coded(names[stream], "bzip2", bzip2);
	print_coded(names[stream], "zstd", zstd);
	fflush(stdout);
	return error;
}

int main(int argc, char **argv)
{
	struct tw_recording *r;
	if (argc != 3)
		return fputs("usage: streams DIR SCRATCH, or streams --threads DIR\n", stderr), 2;
	const int threads = !strcmp(argv[1], "--threads");
	int error = tw_recording_open(argv[1 + threads], &r);
	if (threads && !error)
		return print_threads(r), 0;
	for (int i = 0; i < N_STREAMS && !error; i++)
		error = do_stream(r, (enum stream)i, argv[2]);
	if (error)
		return fprintf(stderr, "streams: %s\n", tw_error_text(error)), 1;
	const struct tw_totals *t = tw_recording_totals(r);
	printf("C stored %llu\nM stored %llu\n", (unsigned long long)t->stored[TW_STREAM_C], (unsigned long long)t->stored[TW_STREAM_M]);
	tw_recording_close(r);
	return 0;
}
