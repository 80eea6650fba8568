/*
 * Runs random sequences of instructions and prints what became of them, one line per batch: run under Trackway, the lines must be the same
 * (tests/oracle/sequences.sh).
 *
 *     sequences [-s SEED] [-n BATCHES] [-b FIRST_BATCH] [-c SEQUENCES_PER_BATCH] [-r TURNS] [-f FILL] [-t] [-v] [-d FILE] [-w FILE | -l FILE]
 *
 *     -t  a timer interrupts, at any instruction
 *     -v  a line for each sequence: batch, number, hash, faults, address of its code
 *     -d  writes the code region of the last batch
 *     -w  writes the last batch; -l runs what was written, without making anything
 *
 * In each turn all sequences of the batch run ROUNDS times, one after another; then a loop that does nothing fills a buffer (sequence_fill; -f 0:
 * not). So each buffer has all of them among its first records, and a few more become superblocks. A sequence that has faulted
 * MAX_FAULTS times is not run any more.
 */
#define _GNU_SOURCE
#include "sequence.h"
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { TRAP_BYTES = 1 << 16, MAX_FAULTS = 12, STOCK_BATCHES = 128, ROUNDS = 3, RANDOMS = 1024, VECTOR_SETS = 8 };

extern uint64_t sequence_entry, sequence_hash;
extern char sequence_finish[];
void sequence_run(const uint64_t *in, const uint64_t *random, const void *vectors);
void sequence_fill(uint32_t n);

/* All at fixed addresses below 2 GB: the program is not position-independent. */
static uint8_t code[FUNCTIONS_BYTES + MAX_SEQUENCES * SEQUENCE_BYTES] __attribute__((aligned(4096)));
static uint8_t trap[TRAP_BYTES] __attribute__((aligned(4096)));
static struct {
	struct sequence sequence[MAX_SEQUENCES];
	uint64_t random[RANDOMS];
	uint64_t vectors[VECTOR_SETS][16][4];
	uint32_t n;
	uint8_t slot[MAX_SEQUENCES][SLOT_BYTES] __attribute__((aligned(4096)));
} batch;

static struct {
	uint64_t seed;
	unsigned batches, first, count, turns, fill;
	bool timer, verbose;
	const char *dump, *write, *load;
} opt = {.seed = 1, .batches = 4, .count = 32, .turns = 40, .fill = 2100};

static uint64_t hash[MAX_SEQUENCES];
static unsigned faults[MAX_SEQUENCES];
static unsigned now; /* the sequence that runs */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* A fault ends the sequence, with the registers as they are. */
static void on_fault(int signo, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t pc = (uint64_t)r[REG_RIP];
	if (pc < (uint64_t)code || pc >= (uint64_t)code + sizeof code) {
		static const char text[] = "sequences: a fault outside the sequences\n";
		if (write(2, text, sizeof text - 1) < 0)
			_exit(4);
		_exit(3);
	}
	sequence_hash = mix(mix(mix(sequence_hash, pc), (uint64_t)signo), (uint64_t)info->si_addr);
	faults[now]++;
	r[REG_RIP] = (greg_t)sequence_finish;
}

static void on_timer(int signo)
{
	(void)signo;
}

static void set_handlers(void)
{
	static uint8_t stack[65536];
	static const int signals[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV};
	stack_t s = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction t = {.sa_handler = on_timer, .sa_flags = SA_ONSTACK | SA_RESTART};
	if (sigaltstack(&s, NULL))
		die("sigaltstack");
	sigaddset(&a.sa_mask, SIGALRM);
	for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
		if (sigaction(signals[k], &a, NULL))
			die("sigaction");
	const struct itimerval every = {{0, 300}, {0, 300}};
	if (opt.timer && (sigaction(SIGALRM, &t, NULL) || setitimer(ITIMER_REAL, &every, NULL)))
		die("setitimer");
}

static void protect(int prot)
{
	if (mprotect(code, sizeof code, prot))
		die("mprotect");
}

/* ---- a batch ---- */

static uint64_t next_random(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Data: some words small, half of the vectors as indices, the others with numbers of both formats in them. */
static void make_data(uint64_t seed)
{
	for (unsigned k = 0; k < RANDOMS; k++) {
		uint64_t v = next_random(&seed);
		batch.random[k] = v >> (v & 3 ? 0 : v >> 2 & 63);
	}
	for (unsigned k = 0; k < VECTOR_SETS * 16 * 4; k++) {
		uint64_t v = next_random(&seed);
		uint64_t small = (v & 63) - 32;
		uint64_t number = (v & 0x000fffff00ffffff) | 0x3ff000003f000000;
		(&batch.vectors[0][0][0])[k] = k / 4 % 2 == 0 ? small : v >> 60 == 0 ? v : number;
	}
}

static void make_batch(unsigned number)
{
	if (number % STOCK_BATCHES == 0 || number == opt.first)
		sequence_stock(mix(opt.seed, number / STOCK_BATCHES));
	make_data(mix(opt.seed + 1, number));
	memset(batch.slot, 0, opt.count * sizeof *batch.slot);
	protect(PROT_READ | PROT_WRITE);
	memset(code, 0xcc, sizeof code);
	sequence_functions(code, mix(opt.seed + 2, number));
	for (unsigned k = 0; k < opt.count; k++)
		sequence_make(&batch.sequence[k], code + FUNCTIONS_BYTES + k * SEQUENCE_BYTES, batch.slot[k]);
	batch.n = opt.count;
}

static void run_one(unsigned k, unsigned round)
{
	const uint64_t *random = &batch.random[(round * 7 + k) % (RANDOMS - 16)];
	uint64_t pointer = (uint64_t)batch.slot[k] + 1024 + (random[15] & 0x3f8);
	uint64_t valid = (uint64_t)batch.slot[k] + 2048;
	uint64_t wild = (uint64_t)trap + TRAP_BYTES / 2;
	if ((round + k) % 50 == 49)
		valid = wild;
	memcpy(batch.slot[k] + CELL_POINTER, &pointer, 8);
	memcpy(batch.slot[k] + CELL_TRAP, &valid, 8);
	now = k;
	sequence_entry = batch.sequence[k].entry;
	sequence_hash = hash[k];
	sequence_run(batch.sequence[k].in, random, batch.vectors[(round + k) % VECTOR_SETS]);
	hash[k] = sequence_hash;
}

static uint64_t fold_slot(uint64_t h, const uint8_t *slot)
{
	uint64_t w[4];
	for (unsigned at = 0; at < SLOT_BYTES; at += sizeof w) {
		memcpy(w, slot + at, sizeof w);
		h = (h ^ w[0]) * 0x9e3779b97f4a7c15ull + (w[1] ^ w[2] * 31) + w[3] * 127;
	}
	return mix(h, 0);
}

static void run_batch(unsigned number)
{
	uint64_t total = 0;
	memset(hash, 0, sizeof hash);
	memset(faults, 0, sizeof faults);
	protect(PROT_READ | PROT_EXEC);
	for (unsigned round = 0; round < opt.turns * ROUNDS; round++) {
		for (unsigned k = 0; k < batch.n; k++)
			if (faults[k] < MAX_FAULTS)
				run_one(k, round);
		if (round % ROUNDS == ROUNDS - 1)
			sequence_fill(opt.fill);
	}
	for (unsigned k = 0; k < batch.n; k++) {
		hash[k] = fold_slot(hash[k], batch.slot[k]);
		total = mix(total, hash[k]);
		if (opt.verbose)
			printf("%u %u %016llx %u %llx\n", number, k, (unsigned long long)hash[k], faults[k],
			       (unsigned long long)batch.sequence[k].entry);
	}
	printf("batch %u: %016llx\n", number, (unsigned long long)total);
}

/* ---- files ---- */

static void save(const char *name)
{
	FILE *f = fopen(name, "w");
	if (!f || fwrite(code, 1, sizeof code, f) != sizeof code || fwrite(&batch, 1, sizeof batch, f) != sizeof batch || fclose(f))
		die(name);
}

static void dump(const char *name)
{
	FILE *f = fopen(name, "w");
	if (!f || fwrite(code, 1, sizeof code, f) != sizeof code || fclose(f))
		die(name);
}

static void load(const char *name)
{
	FILE *f = fopen(name, "r");
	if (!f || fread(code, 1, sizeof code, f) != sizeof code || fread(&batch, 1, sizeof batch, f) != sizeof batch || fclose(f))
		die(name);
}

static void parse(int argc, char **argv)
{
	for (int c; (c = getopt(argc, argv, "s:n:b:c:r:f:tvd:w:l:")) != -1;) {
		switch (c) {
		case 's':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			opt.batches = (unsigned)atoi(optarg);
			break;
		case 'b':
			opt.first = (unsigned)atoi(optarg);
			break;
		case 'c':
			opt.count = (unsigned)atoi(optarg);
			break;
		case 'r':
			opt.turns = (unsigned)atoi(optarg);
			break;
		case 'f':
			opt.fill = (unsigned)atoi(optarg);
			break;
		case 't':
			opt.timer = true;
			break;
		case 'v':
			opt.verbose = true;
			break;
		case 'd':
			opt.dump = optarg;
			break;
		case 'w':
			opt.write = optarg;
			break;
		case 'l':
			opt.load = optarg;
			break;
		default:
			exit(2);
		}
	}
	if (opt.count < 1 || opt.count > MAX_SEQUENCES || optind != argc)
		exit(2);
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	sequence_end = (uint64_t)sequence_finish;
	if (mprotect(trap, sizeof trap, PROT_NONE))
		die("mprotect");
	set_handlers();
	if (opt.load) {
		load(opt.load);
		run_batch(0);
		return 0;
	}
	sequence_init();
	for (unsigned number = opt.first; number < opt.first + opt.batches; number++) {
		make_batch(number);
		if (opt.write && number + 1 == opt.first + opt.batches)
			save(opt.write);
		run_batch(number);
	}
	if (opt.dump)
		dump(opt.dump);
	return 0;
}
