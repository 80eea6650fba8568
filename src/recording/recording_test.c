/* Writer and reader together: what is written is read, and damage is found, named and survived. */
#include "base/channel.h"
#include "recording/recording.h"
#include "recording/transform.h"
#include "unit.h"
#include "unit_directory.h"
#include "unit_fragment.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <zstd.h>

enum { N_CHUNKS = 5, N_TAGS = 1000, N_VALUES = 500 };

static const char *const dir = "rec.tw";

static struct tw_recording_info sample_info(void)
{
	static char *argv[] = {"prog", "two words", "back\\slash\nline", "", "\xff\x01"};
	struct tw_recording_info info = {
	    .format = TW_FORMAT_DEP,
	    .start = 1700000000,
	    .argc = 5,
	    .argv = argv,
	    .program = "/bin/prog",
	    .cwd = "/tmp/a b",
	    .host = "host",
	    .cpu = "cpu",
	    .kernel = "Linux 6.1",
	};
	info.xstate.xcr0 = 7;
	info.xstate.component[2].size = 256;
	info.xstate.component[2].offset = 576;
	return info;
}

static void write_chunk(struct tw_writer *w, uint32_t thread, uint32_t sequence)
{
	static uint16_t c[N_TAGS];
	static uint64_t m[N_VALUES], e[4];
	struct tw_thread_info t = {.serial = thread, .pid = 100, .tid = 100 + thread, .parent_pid = 1, .parent_tid = 2};
	for (unsigned i = 0; i < N_TAGS; i++)
		c[i] = i % 2 ? (uint16_t)(16 + (i * 7 + sequence) % 100) : TW_TAG_UPPER;
	for (unsigned i = 0; i < N_VALUES; i++)
		m[i] = i * 0x123456789ull + sequence;
	struct tw_chunk chunk = {
	    .thread = thread,
	    .sequence = sequence,
	    .upper = 1,
	    .flags = sequence == N_CHUNKS - 1 ? TW_CHUNK_LAST : 0,
	    .first_insn = sequence * 30u,
	    .insns = 30,
	    .blocks = 10,
	    .refs = 20,
	    .reads = 15,
	    .writes = 6,
	    .c = c,
	    .n_c = N_TAGS,
	    .m = m,
	    .n_m = sequence == 3 ? 0 : N_VALUES,
	    .e = (uint8_t *)e,
	    .n_e = sizeof e,
	};
	EQUAL(tw_writer_chunk(w, &t, &chunk, sequence == 2, 3), TW_OK);
}

static void write_code(struct tw_writer *w, uint32_t number)
{
	struct tw_op op = {.kind = TW_OP_REF, .base = TW_RSP, .index = TW_NOREG, .type = TW_READ, .size = 8};
	struct tw_descriptor *d = unit_descriptor(number, 3, 0, &op, 1);
	EQUAL(tw_writer_descriptors(w, d, d->bytes), TW_OK);
	free(d);
}

static struct tw_writer *write_open(void)
{
	struct tw_recording_info info = sample_info();
	struct tw_module module = {0x400000, 0x1000, 0x2000, 100, 5, 0, 0, "/bin/prog"};
	struct tw_writer *w = NULL;
	EQUAL(tw_directory_prepare(dir), TW_OK);
	EQUAL(tw_writer_create(dir, &info, &w), TW_OK);
	write_code(w, 16);
	size_t n_module;
	void *module_bytes = tw_module_bytes(&module, &n_module);
	EQUAL(tw_writer_block(w, TW_BLOCK_MODULES, module_bytes, n_module), TW_OK);
	free(module_bytes);
	write_code(w, 5 << 16 | 17);
	for (uint32_t i = 0; i < N_CHUNKS; i++) {
		write_chunk(w, 0, i);
		write_chunk(w, 12, i);
	}
	return w;
}

static void write_sample(void)
{
	struct tw_writer *w = write_open();
	struct tw_recording_info end = {.complete = 1, .wait_status = 256, .duration_ns = 5, .totals = *tw_writer_totals(w)};
	end.totals.fragments = 2;
	EQUAL(tw_writer_close(w, &end), TW_OK);
}

static struct tw_recording *open_sample(void)
{
	struct tw_recording *r = NULL;
	EQUAL(tw_recording_open(dir, &r), TW_OK);
	return r;
}

/* ---- round trip ---- */

static void check_info(const struct tw_recording *r)
{
	struct tw_recording_info expected = sample_info();
	const struct tw_recording_info *info = tw_recording_info(r);
	EQUAL(info->complete, 1);
	EQUAL(info->argc, expected.argc);
	for (int i = 0; i < info->argc; i++)
		SAME_TEXT(info->argv[i], expected.argv[i]);
	SAME_TEXT(info->cwd, expected.cwd);
	SAME_TEXT(info->failure, "");
	EQUAL(info->start, expected.start);
	EQUAL(info->wait_status, 256);
	EQUAL(info->duration_ns, 5);
	CHECK(!memcmp(&info->xstate, &expected.xstate, sizeof info->xstate));
}

static void check_totals(const struct tw_recording *r)
{
	struct tw_totals sum;
	tw_recording_sum(r, &sum);
	CHECK(!memcmp(&sum, tw_recording_totals(r), sizeof sum));
	EQUAL(sum.insns, 2 * N_CHUNKS * 30);
	EQUAL(sum.writes, 2 * N_CHUNKS * 6);
	EQUAL(sum.chunks, 2 * N_CHUNKS);
	EQUAL(sum.threads, 2);
	EQUAL(sum.gaps, 2);
	EQUAL(sum.raw[TW_STREAM_C], 2 * N_CHUNKS * N_TAGS * 2);
}

static void check_code(const struct tw_recording *r)
{
	EQUAL(tw_recording_n_descriptors(r), 2);
	CHECK(tw_recording_descriptor(r, 5 << 16 | 17) == tw_recording_descriptor_at(r, 1));
	CHECK(!tw_recording_descriptor(r, 17));
	CHECK(!tw_recording_descriptor(r, 0xffffffff));
	EQUAL(tw_recording_n_modules(r), 1);
	SAME_TEXT(tw_recording_module(r, 0)->path, "/bin/prog");
	EQUAL(tw_recording_module(r, 0)->offset, 0x2000);
	CHECK(!tw_recording_module(r, 1));
}

static void check_chunks(const struct tw_recording *r)
{
	EQUAL(tw_recording_n_threads(r), 2);
	EQUAL(tw_recording_thread(r, 1)->serial, 12);
	EQUAL(tw_recording_thread(r, 1)->tid, 112);
	EQUAL(tw_recording_thread(r, 1)->n_chunks, N_CHUNKS);
	for (uint32_t i = 0; i < N_CHUNKS; i++) {
		struct tw_chunk c;
		EQUAL(tw_recording_chunk(r, 1, i, &c), TW_OK);
		EQUAL(c.thread, 12);
		EQUAL(c.sequence, i);
		EQUAL(c.first_insn, i * 30);
		EQUAL(c.n_c, N_TAGS);
		EQUAL(c.n_m, i == 3 ? 0 : N_VALUES);
		EQUAL(c.c[1], 16 + 7 + i);
		if (i != 3)
			EQUAL(c.m[499], 499 * 0x123456789ull + i);
		tw_chunk_release(&c);
	}
	struct tw_chunk none;
	EQUAL(tw_recording_chunk(r, 1, N_CHUNKS, &none), TW_ERR_RANGE);
	EQUAL(tw_recording_chunk(r, 2, 0, &none), TW_ERR_RANGE);
	tw_chunk_release(&none);
}

static void round_trip(void)
{
	write_sample();
	struct tw_recording *r = open_sample();
	EQUAL(tw_recording_n_problems(r), 0);
	check_info(r);
	check_totals(r);
	check_code(r);
	check_chunks(r);
	tw_recording_close(r);
}

static void while_written(void)
{
	struct tw_writer *w = write_open();
	struct tw_recording *r = open_sample();
	EQUAL(tw_recording_info(r)->complete, 0);
	EQUAL(tw_recording_totals(r)->chunks, 2 * N_CHUNKS);
	EQUAL(tw_recording_n_problems(r), 0);
	tw_recording_close(r);
	struct tw_recording_info end = {.failure = "disk full"};
	EQUAL(tw_writer_close(w, &end), TW_OK);
	r = open_sample();
	EQUAL(tw_recording_info(r)->complete, 0);
	SAME_TEXT(tw_recording_info(r)->failure, "disk full");
	tw_recording_close(r);
}

/* ---- a chunk whose parts fill frames ---- */

enum { LONG_PIECES = 4, LONG_TAGS = 1 << 21, LONG_VALUES = 1 << 19, LONG_EVENTS = 3 << 19 };

struct long_chunk {
	uint16_t c[LONG_PIECES * LONG_TAGS];
	uint64_t m[LONG_VALUES];
	uint8_t e[LONG_PIECES * LONG_EVENTS];
};

/* Nothing in it can be predicted. The values belong to no execution, so they come in the last piece. */
static struct long_chunk *make_long(void)
{
	struct long_chunk *k = malloc(sizeof *k);
	uint64_t x = 1;
	for (size_t i = 0; i < LONG_PIECES * LONG_TAGS; i++)
		k->c[i] = i % 2 ? (uint16_t)((x = x * 6364136223846793005u + 1) >> 40) : TW_TAG_UPPER;
	for (size_t i = 0; i < LONG_VALUES; i++)
		k->m[i] = x = x * 6364136223846793005u + 1;
	for (size_t i = 0; i < LONG_PIECES * LONG_EVENTS; i++)
		k->e[i] = (uint8_t)(i * i >> 7);
	return k;
}

static void pack_long(struct tw_writer *w, const struct long_chunk *k)
{
	struct tw_thread_info t = {.pid = 100, .tid = 100};
	struct tw_packer *p = tw_writer_packer(w);
	tw_packer_begin(p, TW_NO_THREAD);
	for (size_t i = 0; i < LONG_PIECES; i++) {
		struct tw_chunk piece = {
		    .c = (uint16_t *)k->c + i * LONG_TAGS,
		    .n_c = LONG_TAGS,
		    .m = (uint64_t *)k->m,
		    .n_m = i == LONG_PIECES - 1 ? LONG_VALUES : 0,
		    .e = (uint8_t *)k->e + i * LONG_EVENTS,
		    .n_e = LONG_EVENTS,
		};
		EQUAL(tw_packer_add(p, &t, &piece, &(struct tw_event_sums){0}), TW_OK);
	}
	EQUAL(tw_packer_end(p, 3), TW_OK);
	EQUAL(tw_writer_packed(w, tw_packer_packed(p)), TW_OK);
	tw_packer_free(p);
}

/* Each section begins with a frame that is not all of it. */
static void check_frames(const struct tw_recording *r)
{
	const struct tw_chunk_info *info = tw_recording_chunk_info(r, 0, 0);
	FILE *f = fopen("rec.tw/thread-0000", "rb");
	CHECK(f && !fseek(f, (long)(info->offset + sizeof(struct tw_file_chunk)), SEEK_SET));
	for (unsigned i = 0; i < TW_NSTREAMS; i++) {
		void *stored = malloc(info->stored[i]);
		CHECK(fread(stored, 1, info->stored[i], f) == info->stored[i]);
		CHECK(ZSTD_findFrameCompressedSize(stored, info->stored[i]) < info->stored[i]);
		free(stored);
	}
	fclose(f);
}

static void long_chunk(void)
{
	struct tw_recording_info info = sample_info();
	struct tw_writer *w = NULL;
	struct long_chunk *k = make_long();
	struct tw_chunk c;
	EQUAL(tw_directory_prepare(dir), TW_OK);
	EQUAL(tw_writer_create(dir, &info, &w), TW_OK);
	pack_long(w, k);
	EQUAL(tw_writer_close(w, &(struct tw_recording_info){.complete = 1}), TW_OK);
	struct tw_recording *r = open_sample();
	check_frames(r);
	EQUAL(tw_recording_chunk(r, 0, 0, &c), TW_OK);
	EQUAL(c.n_c * sizeof *c.c, sizeof k->c);
	EQUAL(c.n_m * sizeof *c.m, sizeof k->m);
	EQUAL(c.n_e, sizeof k->e);
	CHECK(!memcmp(c.c, k->c, sizeof k->c));
	CHECK(!memcmp(c.m, k->m, sizeof k->m));
	CHECK(!memcmp(c.e, k->e, sizeof k->e));
	tw_chunk_release(&c);
	tw_recording_close(r);
	free(k);
}

/* ---- damage ---- */

static void flip(const char *path, off_t at)
{
	unsigned char byte;
	int fd = open(path, O_RDWR);
	CHECK(pread(fd, &byte, 1, at) == 1);
	byte ^= 0x40;
	CHECK(pwrite(fd, &byte, 1, at) == 1);
	close(fd);
}

static off_t chunk_offset(size_t chunk)
{
	struct tw_recording *r = open_sample();
	off_t at = (off_t)tw_recording_chunk_info(r, 0, chunk)->offset;
	tw_recording_close(r);
	return at;
}

static unsigned readable_chunks(const struct tw_recording *r, size_t thread)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < tw_recording_thread(r, thread)->n_chunks; i++) {
		struct tw_chunk c;
		n += tw_recording_chunk(r, thread, i, &c) == TW_OK;
		tw_chunk_release(&c);
	}
	return n;
}

static void damaged_section(void)
{
	write_sample();
	flip("rec.tw/thread-0000", chunk_offset(2) + (off_t)sizeof(struct tw_file_chunk) + 5);
	struct tw_recording *r = open_sample();
	struct tw_chunk c;
	EQUAL(tw_recording_n_problems(r), 0);
	EQUAL(tw_recording_chunk(r, 0, 2, &c), TW_ERR_CHECKSUM);
	CHECK(strstr(tw_recording_detail(), "thread-0000: stream C of chunk 2 at offset"));
	EQUAL(readable_chunks(r, 0), N_CHUNKS - 1);
	EQUAL(readable_chunks(r, 1), N_CHUNKS);
	tw_recording_close(r);
}

static void damaged_header_of_chunk(void)
{
	write_sample();
	flip("rec.tw/thread-0000", chunk_offset(1) + 20);
	struct tw_recording *r = open_sample();
	CHECK(tw_recording_n_problems(r) >= 1);
	EQUAL(tw_recording_problem(r, 0)->error, TW_ERR_CHECKSUM);
	CHECK(strstr(tw_recording_problem(r, 0)->text, "thread-0000: the header of chunk 1 at offset"));
	EQUAL(readable_chunks(r, 0), N_CHUNKS - 1);
	EQUAL(tw_recording_chunk_info(r, 0, 1)->sequence, 2);
	tw_recording_close(r);
}

static void truncated_at(off_t size, unsigned chunks)
{
	write_sample();
	CHECK(!truncate("rec.tw/thread-0000", size));
	struct tw_recording *r = open_sample();
	EQUAL(tw_recording_n_problems(r), 1);
	EQUAL(tw_recording_problem(r, 0)->error, TW_ERR_TRUNCATED);
	EQUAL(readable_chunks(r, 0), chunks);
	tw_recording_close(r);
}

static void truncated(void)
{
	write_sample();
	off_t last = chunk_offset(4);
	truncated_at(last + 30, 4);
	truncated_at(last + (off_t)sizeof(struct tw_file_chunk) + 1, 4);
	truncated_at(8, 0);
}

/* Idle fragments are in no list; the block that lists them may be damaged, or cut off. */
static void idle(void)
{
	const uint32_t numbers[] = {16, 5 << 16 | 16}, wrong[] = {5 << 16 | 17, 16};
	struct tw_writer *w = write_open();
	EQUAL(tw_writer_block(w, TW_BLOCK_IDLE, wrong, sizeof wrong), TW_OK);
	EQUAL(tw_writer_block(w, TW_BLOCK_IDLE, numbers, sizeof numbers), TW_OK);
	struct tw_recording_info end = {.complete = 1, .totals = *tw_writer_totals(w)};
	end.totals.fragments = 2;
	EQUAL(tw_writer_close(w, &end), TW_OK);
	struct tw_recording *r = open_sample();
	EQUAL(tw_recording_n_problems(r), 1);
	CHECK(strstr(tw_recording_problem(r, 0)->text, "holds an invalid list of fragments"));
	EQUAL(tw_recording_n_descriptors(r), 1);
	EQUAL(tw_recording_descriptor_at(r, 0)->number, 5 << 16 | 17);
	struct tw_totals sum;
	tw_recording_sum(r, &sum);
	EQUAL(sum.fragments, 2);
	tw_recording_close(r);
}

static void damaged_code(void)
{
	write_sample();
	flip("rec.tw/code", sizeof(struct tw_file_block) + 3);
	struct tw_recording *r = open_sample();
	EQUAL(tw_recording_n_problems(r), 1);
	CHECK(strstr(tw_recording_problem(r, 0)->text, "code: the block at offset 0"));
	EQUAL(tw_recording_n_descriptors(r), 1);
	EQUAL(tw_recording_n_modules(r), 1);
	tw_recording_close(r);
	write_sample();
	flip("rec.tw/code", 9);
	r = open_sample();
	CHECK(tw_recording_n_problems(r) >= 1);
	EQUAL(tw_recording_n_descriptors(r), 1);
	tw_recording_close(r);
}

/* Every single flipped byte of a small file is detected or harmless; none crashes the reader. */
static void any_byte(const char *path)
{
	struct stat st;
	write_sample();
	CHECK(!stat(path, &st));
	for (off_t at = 0; at < st.st_size; at += 7) {
		struct tw_recording *r;
		flip(path, at);
		int error = tw_recording_open(dir, &r);
		if (!error) {
			unsigned whole = readable_chunks(r, 0) + readable_chunks(r, 1);
			CHECK(whole >= 2 * N_CHUNKS - 1);
		}
		tw_recording_close(r);
		flip(path, at);
	}
}

/* ---- page faults ---- */

/*
 * A recorder opens what it has written to keep names. Its heap then has room that was never touched, and must not be
 * cleared: this test comes first for that reason.
 */
static void opening_touches_little(void)
{
	enum { ROOM = 8 << 20, MOST = 200 };
	mallopt(M_MMAP_THRESHOLD, 2 * ROOM);
	void *volatile room = malloc(ROOM); /* volatile: they are not to be left out */
	void *volatile behind = malloc(1);
	write_sample();
	free(room);
	const long before = unit_faults();
	struct tw_recording *r = open_sample();
	CHECK(unit_faults() - before < MOST);
	tw_recording_close(r);
	free(behind);
}

/* ---- what cannot be opened at all ---- */

static int open_error(void)
{
	struct tw_recording *r;
	int error = tw_recording_open(dir, &r);
	tw_recording_close(r);
	return error;
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

static void not_to_be_opened(void)
{
	struct tw_recording *r;
	write_sample();
	write_text("rec.tw/header", "trackway recording 1\n");
	EQUAL(open_error(), TW_ERR_VERSION);
	CHECK(strstr(tw_recording_detail(), "version 1"));
	write_text("rec.tw/header", "trackway recording 99\n");
	EQUAL(open_error(), TW_ERR_VERSION);
	write_text("rec.tw/header", "trackway recording 6\nstate: complete\n");
	EQUAL(open_error(), TW_ERR_TRUNCATED);
	write_text("rec.tw/header", "something else\n");
	EQUAL(open_error(), TW_ERR_NOT_RECORDING);
	write_text("rec.tw/header", "");
	EQUAL(open_error(), TW_ERR_EMPTY);
	unlink("rec.tw/header");
	EQUAL(open_error(), TW_ERR_NOT_RECORDING);
	EQUAL(tw_recording_open("nothing-here", &r), TW_ERR_NOT_FOUND);
	CHECK(!mkdir("empty", 0777));
	EQUAL(tw_recording_open("empty", &r), TW_ERR_EMPTY);
	write_text("file", "text");
	EQUAL(tw_recording_open("file", &r), TW_ERR_NOT_RECORDING);
}

static void damaged_header(void)
{
	CHECK(!rename("rec.tw", "broken"));
	write_sample();
	flip("rec.tw/header", 40);
	EQUAL(open_error(), TW_ERR_CHECKSUM);
}

/* ---- in memory ---- */

static uint64_t word_of(unsigned chunk, unsigned i)
{
	return chunk * 1000003ull + i * 0x9e3779b97f4a7c15ull * (i % 3 == 0);
}

/* Chunk number `sequence` of a thread: the larger the number the more is in it. */
static void keep_chunk(struct tw_recording *r, uint32_t thread, uint32_t sequence, uint64_t most)
{
	static uint64_t m[N_VALUES], e[N_VALUES];
	static uint16_t c[N_VALUES];
	const struct tw_thread_info t = {.serial = thread, .pid = 100, .tid = 100 + thread};
	const size_t n = sequence * 100;
	for (unsigned i = 0; i < N_VALUES; i++) {
		m[i] = word_of(sequence + thread, i);
		e[i] = ~m[i];
		c[i] = (uint16_t)m[i];
	}
	const struct tw_chunk chunk = {.thread = thread,
	                               .sequence = sequence,
	                               .insns = n,
	                               .c = c,
	                               .n_c = n,
	                               .m = m,
	                               .n_m = n,
	                               .e = (uint8_t *)e,
	                               .n_e = n * sizeof *e};
	EQUAL(tw_recording_live_chunk(r, &t, &chunk), TW_OK);
	EQUAL(tw_recording_live_keep(r, &chunk, most), TW_OK);
}

static void check_kept(const struct tw_recording *r, uint32_t thread, unsigned sequence, struct tw_coded_chunk *coded)
{
	const size_t i = tw_recording_find_thread(r, thread), n = sequence * 100;
	EQUAL(tw_recording_coded_chunk(r, i, sequence, coded), TW_OK);
	const struct tw_chunk *chunk = &coded->chunk;
	CHECK(!coded->values && chunk->sequence == sequence && chunk->n_c == n && chunk->n_m == n && chunk->n_e == n * sizeof(uint64_t));
	for (unsigned k = 0; k < n; k++) {
		const uint64_t word = word_of(sequence + thread, k);
		CHECK(chunk->m[k] == word && ((const uint64_t *)(const void *)chunk->e)[k] == ~word && chunk->c[k] == (uint16_t)word);
	}
	EQUAL(chunk->c[n], 0);
	EQUAL(tw_recording_events(r, i, sequence, coded), TW_OK);
	EQUAL(coded->chunk.n_e, n * sizeof(uint64_t));
}

/* Chunks that are kept are those that came, whether they have room in memory or in the file. */
static void kept_chunks(uint64_t most)
{
	const struct tw_recording_info info = sample_info();
	struct tw_recording *r = NULL;
	struct tw_coded_chunk coded = {0};
	EQUAL(tw_recording_live(&info, &r), TW_OK);
	for (uint32_t i = 0; i < N_CHUNKS; i++) {
		keep_chunk(r, 7, i, most);
		keep_chunk(r, 3, i, most); /* which stands before the other */
	}
	CHECK(!tw_recording_values(r));
	for (uint32_t i = N_CHUNKS; i-- > 0;) {
		check_kept(r, 3, i, &coded);
		check_kept(r, 7, i, &coded);
	}
	EQUAL(tw_recording_thread(r, 0)->n_chunks, N_CHUNKS);
	EQUAL(tw_recording_chunk_info(r, 1, 4)->insns, 400);
	EQUAL(tw_recording_coded_chunk(r, 0, N_CHUNKS, &coded), TW_ERR_RANGE);
	tw_coded_chunk_release(&coded);
	tw_recording_close(r);
}

/* ---- directories ---- */

static void directories(void)
{
	CHECK(!mkdir("mine", 0777));
	EQUAL(tw_directory_prepare("mine"), TW_OK);
	write_text("mine/precious", "text");
	EQUAL(tw_directory_prepare("mine"), TW_ERR_NOT_RECORDING);
	CHECK(!access("mine/precious", F_OK));
	EQUAL(tw_directory_prepare("file"), TW_ERR_NOT_RECORDING);
	EQUAL(tw_directory_prepare("no/such/place"), TW_ERR_SYSTEM);
	write_sample();
	write_sample();
	CHECK(!access("rec.tw.old/header", F_OK));
	CHECK(!access("rec.tw.old/thread-0012", F_OK));
	write_text("rec.tw.old/precious", "text");
	EQUAL(tw_directory_prepare(dir), TW_ERR_SYSTEM);
	CHECK(!access("rec.tw.old/precious", F_OK));
	CHECK(!access("rec.tw/header", F_OK));
}

int main(void)
{
	char place[PATH_MAX];
	unit_enter_directory(place);
	opening_touches_little();
	round_trip();
	while_written();
	long_chunk();
	damaged_section();
	damaged_header_of_chunk();
	truncated();
	idle();
	damaged_code();
	any_byte("rec.tw/thread-0000");
	any_byte("rec.tw/code");
	any_byte("rec.tw/header");
	not_to_be_opened();
	damaged_header();
	directories();
	kept_chunks(0);
	kept_chunks(1ull << 30);
	unit_leave_directory(place);
	return UNIT_END();
}
