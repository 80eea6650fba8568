/*
 * Runs random sequences of instructions and prints what became of them, one line per batch: run under Trackway, the lines must be the same
 * (tests/oracle/sequences.sh).
 *
 *     sequences [-s SEED] [-n BATCHES] [-b FIRST_BATCH] [-c SEQUENCES_PER_BATCH] [-h] [-m] [RUN]   makes and runs them: a batch where the last one was
 *     sequences [-s SEED] ... -w FILE                                                              makes them, side by side, and writes them to a file
 *     sequences -l FILE [-n BATCHES] [-b FIRST_BATCH] [RUN]                                   runs what is in the file, without making anything
 *
 *     -h  high: code and memory are far above 4 GB
 *     -m  code modifies itself
 *
 *     RUN: [-r TURNS] [-o ROUNDS] [-f FILL] [-t] [-v] [-d FILE]
 *     -t  a timer interrupts, at any instruction
 *     -v  a line for each sequence: batch, number, hash, faults, address and size of its code
 *     -d  writes the code from the region's start on
 *
 * In each turn all sequences of the batch run ROUNDS times (3), one after another; then a loop that does nothing fills a buffer (sequence_fill; -f 0:
 * not). So each buffer has all of them among its first records, and a few more become superblocks. A sequence that has faulted
 * MAX_FAULTS times is not run any more.
 */
#define _GNU_SOURCE
#include "sequence_set.h"
#include <immintrin.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAX_FAULTS = 12 };

extern uint64_t sequence_entry, sequence_hash;
extern char sequence_finish[];
void sequence_run(const uint64_t *in, const uint64_t *random, const void *vectors);
void sequence_fill(uint32_t n);

static struct sequence_set set;

static struct {
	uint64_t seed;
	unsigned batches, first, count, turns, rounds, fill;
	bool timer, verbose, high, modify;
	const char *dump, *write, *load;
} opt = {.seed = 1, .batches = 4, .count = 32, .turns = 40, .rounds = 3, .fill = 2100};

static uint64_t hash[MAX_BATCH];
static unsigned faults[MAX_BATCH];
static unsigned now; /* the sequence that runs */

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
	if (pc < (uint64_t)set.code || pc >= (uint64_t)set.code + set.code_bytes) {
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

/* A pointer to what cannot be accessed, to just before that, or to nothing that can be an address. */
static uint64_t wild(uint64_t random)
{
	uint64_t trap = (uint64_t)set.trap;
	return random % 4 == 0 ? 0x8000000000000000 + trap : random % 4 == 1 ? trap + TRAP_BYTES / 2 : trap - random / 4 % 32;
}

/* Sequence k of the batch, which is `number` of the set. */
static void run_one(unsigned k, unsigned number, unsigned round)
{
	const struct sequence *q = &set.sequence[number];
	const uint64_t *random = &set.random[(round * 7 + number) % (RANDOMS - 16)];
	uint64_t pointer = (uint64_t)set.slot[k] + 1024 + (random[15] & 0x3f8);
	uint64_t valid = (uint64_t)set.slot[k] + 2048;
	if ((round * 7 + number * 13) % 16 == 15)
		valid = wild(random[14]);
	memcpy(set.slot[k] + CELL_POINTER, &pointer, 8);
	memcpy(set.slot[k] + CELL_TRAP, &valid, 8);
	now = k;
	sequence_entry = q->entry;
	sequence_hash = hash[k];
	sequence_run(q->in, random, set.vectors[(round + number) % VECTOR_SETS]);
	hash[k] = sequence_hash;
}

/* In few references and blocks: formats that log each would spend their time here. */
__attribute__((target("avx2"))) static uint64_t fold_slot(uint64_t h, const uint8_t *slot)
{
	const __m256i *at = (const __m256i *)slot, *end = at + SLOT_BYTES / sizeof *at;
	const __m256i factor = _mm256_set1_epi32((int)0x9e3779b1);
	__m256i sum[4] = {_mm256_set1_epi64x((long long)h), factor, ~factor, _mm256_set1_epi32(1)};
#pragma GCC unroll 64
	for (; at < end; at += 4)
#pragma GCC unroll 4
		for (int k = 0; k < 4; k++) {
			__m256i mixed = _mm256_mullo_epi32(_mm256_xor_si256(sum[k], at[k]), factor);
			sum[k] = _mm256_alignr_epi8(mixed, mixed, 5);
		}
	uint64_t w[16];
	memcpy(w, sum, sizeof w);
	for (unsigned k = 0; k < 16; k++)
		h = mix(h, w[k]);
	return h;
}

static void run_batch(uint32_t index, unsigned number)
{
	const struct sequence_batch *b = &set.batch[index];
	uint64_t total = 0;
	memset(hash, 0, b->n * sizeof *hash);
	memset(faults, 0, b->n * sizeof *faults);
	sequence_set_prepare(&set, index);
	for (unsigned round = 0; round < opt.turns * opt.rounds; round++) {
		for (unsigned j = 0; j < b->n; j++) {
			unsigned k = (j + round / opt.rounds * 11) %
			             b->n; /* others are first in each turn: only a buffer's first records are looked at */
			if (faults[k] < MAX_FAULTS)
				run_one(k, b->first + k, round);
		}
		if (round % opt.rounds == opt.rounds - 1)
			sequence_fill(opt.fill);
	}
	for (unsigned k = 0; k < b->n; k++) {
		const struct sequence *q = &set.sequence[b->first + k];
		hash[k] = fold_slot(hash[k], set.slot[k]);
		total = mix(total, hash[k]);
		if (opt.verbose)
			printf("%u %u %016llx %u %llx %u\n", number, k, (unsigned long long)hash[k], faults[k],
			       (unsigned long long)q->entry, q->bytes);
	}
	printf("batch %u: %016llx\n", number, (unsigned long long)total);
}

static void run_file(void)
{
	sequence_set_load(&set, opt.load);
	sequence_set_writable(&set, false);
	set_handlers();
	for (unsigned number = opt.first; number < opt.first + opt.batches && number < set.n_batches; number++)
		run_batch(number, number);
}

static void make_file(void)
{
	sequence_set_place(&set, opt.high, opt.modify);
	for (unsigned number = opt.first; number < opt.first + opt.batches; number++)
		if (!sequence_set_add(&set, number, opt.count))
			break;
	sequence_set_save(&set, opt.write);
	printf("%u sequences in %u batches, %u bytes\n", set.n_sequences, set.n_batches, set.code_bytes);
}

static void make_and_run(void)
{
	sequence_set_place(&set, opt.high, opt.modify);
	set_handlers();
	for (unsigned number = opt.first; number < opt.first + opt.batches; number++) {
		sequence_set_clear(&set);
		sequence_set_writable(&set, true);
		if (!sequence_set_add(&set, number, opt.count))
			exit(1);
		sequence_set_writable(&set, false);
		run_batch(0, number);
	}
}

static void dump(const char *name)
{
	FILE *f = fopen(name, "w");
	if (!f || fwrite(set.code, 1, set.code_bytes, f) != set.code_bytes || fclose(f))
		die(name);
}

static void parse(int argc, char **argv)
{
	for (int c; (c = getopt(argc, argv, "s:n:b:c:r:o:f:hmtvd:w:l:")) != -1;) {
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
		case 'o':
			opt.rounds = (unsigned)atoi(optarg);
			break;
		case 'f':
			opt.fill = (unsigned)atoi(optarg);
			break;
		case 'h':
			opt.high = true;
			break;
		case 'm':
			opt.modify = true;
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
	if (opt.count < 1 || opt.count > MAX_BATCH || opt.rounds < 1 || optind != argc)
		exit(2);
}

int main(int argc, char **argv)
{
	static char all[1 << 20];
	parse(argc, argv);
	setvbuf(stdout, all, _IOFBF, sizeof all);
	sequence_init((uint64_t)sequence_finish, opt.high, opt.modify);
	set.seed = opt.seed;
	if (opt.load)
		run_file();
	else if (opt.write)
		make_file();
	else
		make_and_run();
	if (opt.dump)
		dump(opt.dump);
	if (fflush(stdout))
		die("stdout");
	return 0;
}
