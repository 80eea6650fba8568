#define _GNU_SOURCE
#include "sequence_set.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STOCK_SEQUENCES = 4096, PAGE = 4096 };

#define HIGH_CODE ((uint8_t *)0x5a0000000000)

static uint8_t low_code[CODE_BYTES] __attribute__((aligned(4096)));
static uint8_t low_slot[MAX_BATCH][SLOT_BYTES] __attribute__((aligned(4096)));
static uint8_t low_trap[PAGE + TRAP_BYTES] __attribute__((aligned(4096)));
static struct sequence sequences[MAX_SEQUENCES];
static uint64_t cells[MAX_CELLS];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

void sequence_set_place(struct sequence_set *s, bool high, bool modifies)
{
	s->modifies = modifies;
	s->high = high;
	s->code = low_code;
	s->slot = low_slot;
	s->trap = low_trap + PAGE;
	s->sequence = sequences;
	s->cell = cells;
	if (high) {
		size_t bytes = CODE_BYTES + sizeof low_slot + sizeof low_trap;
		s->code = mmap(HIGH_CODE, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (s->code != HIGH_CODE)
			die("mmap");
		s->slot = (uint8_t(*)[SLOT_BYTES])(s->code + CODE_BYTES);
		s->trap = s->code + bytes - TRAP_BYTES;
	}
	if (mprotect(s->trap, TRAP_BYTES, PROT_NONE))
		die("mprotect");
	sequence_set_clear(s);
}

void sequence_set_writable(const struct sequence_set *s, bool writable)
{
	int prot = PROT_READ | (writable || s->modifies ? PROT_WRITE : 0) | (writable ? 0 : PROT_EXEC);
	if (mprotect(s->code, CODE_BYTES, prot))
		die("mprotect");
}

void sequence_set_clear(struct sequence_set *s)
{
	s->n_batches = s->n_sequences = s->n_cells = s->code_bytes = 0;
}

static uint64_t next_random(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Data: some words small, half of the vectors as indices, the others with numbers of both formats in them. */
static void make_data(struct sequence_set *s, uint64_t seed)
{
	for (unsigned k = 0; k < RANDOMS; k++) {
		uint64_t v = next_random(&seed);
		s->random[k] = v >> (v & 3 ? 0 : v >> 2 & 63);
	}
	for (unsigned k = 0; k < VECTOR_SETS * 16 * 4; k++) {
		uint64_t v = next_random(&seed);
		uint64_t small = (v & 63) - 32;
		uint64_t number = (v & 0x000fffff00ffffff) | 0x3ff000003f000000;
		(&s->vectors[0][0][0])[k] = k / 4 % 2 == 0 ? small : v >> 60 == 0 ? v : number;
	}
}

/* One stock of random instructions serves several batches. */
static void take_stock(const struct sequence_set *s, uint32_t number, uint32_t n)
{
	static uint64_t have;
	uint64_t want = mix(s->seed, (uint64_t)number * n / STOCK_SEQUENCES);
	if (want != have)
		sequence_stock(want);
	have = want;
}

bool sequence_set_add(struct sequence_set *s, uint32_t number, uint32_t n)
{
	size_t most = FUNCTIONS_BYTES + (size_t)n * SEQUENCE_BYTES;
	if (s->n_batches == MAX_BATCHES || s->n_sequences + n > MAX_SEQUENCES || CODE_BYTES - s->code_bytes < most ||
	    MAX_CELLS - s->n_cells < n * (CELL_END - CELL_FIRST) / 8)
		return false;
	take_stock(s, number, n);
	if (!s->n_batches)
		make_data(s, mix(s->seed + 1, number));
	uint8_t *at = s->code + s->code_bytes;
	at += sequence_functions(at, mix(s->seed + 2, number));
	for (uint32_t k = 0; k < n; k++) {
		struct sequence *q = &s->sequence[s->n_sequences + k];
		uint8_t *slot = s->slot[k];
		sequence_make(q, at, slot);
		memcpy(s->cell + s->n_cells, slot + CELL_FIRST, q->n_cells * 8);
		q->cells = s->n_cells;
		s->n_cells += q->n_cells;
		at += q->bytes;
	}
	s->batch[s->n_batches++] = (struct sequence_batch){s->n_sequences, n};
	s->n_sequences += n;
	s->code_bytes = (uint32_t)(at - s->code);
	return true;
}

/* By the kernel: memset is for some formats the slowest part of a batch, with `rep stosb` and its reference for each byte. */
static void clear(void *p, size_t bytes)
{
	static int zeros = -1;
	if (zeros < 0)
		zeros = open("/dev/zero", O_RDONLY);
	for (size_t done = 0; done < bytes;) { /* signals may end it early */
		ssize_t n = read(zeros, (char *)p + done, bytes - done);
		if (n <= 0)
			die("/dev/zero");
		done += (size_t)n;
	}
}

void sequence_set_prepare(const struct sequence_set *s, uint32_t batch)
{
	const struct sequence_batch *b = &s->batch[batch];
	clear(s->slot, b->n * sizeof *s->slot);
	clear(s->trap - PAGE, PAGE);
	for (uint32_t k = 0; k < b->n; k++) {
		const struct sequence *q = &s->sequence[b->first + k];
		memcpy(s->slot[k] + CELL_FIRST, s->cell + q->cells, q->n_cells * 8);
	}
}

static void put(FILE *f, const void *p, size_t bytes)
{
	if (fwrite(p, 1, bytes, f) != bytes)
		die("write");
}

static void get(FILE *f, void *p, size_t bytes)
{
	if (fread(p, 1, bytes, f) != bytes)
		die("read");
}

void sequence_set_save(const struct sequence_set *s, const char *name)
{
	FILE *f = fopen(name, "w");
	if (!f)
		die(name);
	put(f, s, sizeof *s);
	put(f, s->sequence, s->n_sequences * sizeof *s->sequence);
	put(f, s->cell, s->n_cells * sizeof *s->cell);
	put(f, s->code, s->code_bytes);
	if (fclose(f))
		die(name);
}

void sequence_set_load(struct sequence_set *s, const char *name)
{
	FILE *f = fopen(name, "r");
	if (!f)
		die(name);
	struct sequence_set in;
	get(f, &in, sizeof in);
	sequence_set_place(s, in.high, in.modifies);
	if (s->code != in.code || s->slot != in.slot) {
		fprintf(stderr, "%s: not made by this program\n", name);
		exit(1);
	}
	*s = in;
	get(f, s->sequence, s->n_sequences * sizeof *s->sequence);
	get(f, s->cell, s->n_cells * sizeof *s->cell);
	get(f, s->code, s->code_bytes);
	fclose(f);
}
