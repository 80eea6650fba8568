/*
 * What a killed recorder left in its spool is added to the recording: what is missing, in order, after what was cut
 * off in the middle; once, also if that is interrupted.
 */
#include "channel/unspool.h"
#include "channel/spool.h"
#include "unit.h"
#include "unit_directory.h"
#include "unit_fragment.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FRAGMENT = 20, RECORDS = 50, SLOTS = 8, THREADS = 2 };

static const struct tw_op load = {.kind = TW_OP_REF, .base = TW_RSP, .index = TW_NOREG, .type = TW_READ, .size = 8};
static uint8_t data[TW_DEMUX_DATA];
static uint64_t described;
static uint32_t fragment = FRAGMENT;

/* A buffer of this many executions, their values from `first` on, which tells of a module there. */
static struct tw_demux_input buffer(uint64_t first, int last)
{
	struct unit_buffer b = {data};
	const struct tw_thread_end end = {.what = 0};
	const struct {
		struct tw_map map;
		char path[8];
	} module = {{.address = first << 12, .length = 4096, .prot = PROT_EXEC}, "/module"};
	unit_keyframe(&b, 0);
	unit_event(&b, TW_EVENT_MAP, &module, sizeof module);
	for (uint64_t i = 0; i < RECORDS; i++) {
		unit_tag(&b, (uint16_t)fragment);
		unit_value(&b, first + i);
	}
	if (last)
		unit_event(&b, TW_EVENT_THREAD_END, &end, sizeof end);
	return (struct tw_demux_input){.data = data, .slack = data, .bytes = (uint32_t)(b.p - data)};
}

static void put(struct tw_spool *s, unsigned slot, uint64_t number, uint32_t serial, uint32_t sequence, int last)
{
	const struct tw_demux_input in = buffer(1000 * serial + 100 * number, last);
	struct tw_spooled head = {.put = number,
	                          .descriptors = described,
	                          .serial = serial,
	                          .pid = 7,
	                          .tid = 7 + serial,
	                          .sequence = sequence,
	                          .bytes = in.bytes};
	EQUAL(tw_spool_write(s, slot, &in, NULL), TW_OK);
	EQUAL(tw_spool_write_head(s, slot, &head), TW_OK);
}

/* A recording with one chunk of thread 0, which is buffer 1. */
static void make(struct tw_spool **spool)
{
	struct tw_recording_info info = {.format = TW_FORMAT_DEP, .sink = TW_SINK_FILE};
	struct tw_writer *w;
	struct tw_thread_info t = {.serial = 0, .pid = 7, .tid = 7};
	struct tw_descriptor *d = unit_descriptor(FRAGMENT, 3, 1, &load, 1);
	uint16_t c[1 + RECORDS] = {TW_TAG_EVENT};
	uint64_t m[RECORDS], e[64];
	const struct tw_demux_input in = buffer(100, 0);
	EQUAL(tw_directory_prepare("rec.tw"), TW_OK);
	EQUAL(tw_writer_create("rec.tw", &info, &w), TW_OK);
	EQUAL(tw_writer_descriptors(w, d, d->bytes), TW_OK);
	described = d->bytes;
	for (unsigned i = 0; i < RECORDS; i++) {
		c[i + 1] = FRAGMENT;
		m[i] = 100 + i;
	}
	const size_t n_e = sizeof(struct tw_event_header) + sizeof(struct tw_keyframe);
	memcpy(e, in.data, n_e);
	const struct tw_chunk chunk = {.c = c,
	                               .n_c = 1 + RECORDS,
	                               .m = m,
	                               .n_m = RECORDS,
	                               .e = (uint8_t *)e,
	                               .n_e = n_e,
	                               .insns = 3 * RECORDS,
	                               .blocks = RECORDS,
	                               .refs = RECORDS,
	                               .reads = RECORDS};
	EQUAL(tw_writer_chunk(w, &t, &chunk, 0, 1), TW_OK);
	EQUAL(tw_spool_new(tw_writer_directory(w), SLOTS * 2ull << 20, spool), TW_OK);
	info.failure = (char *)"";
	EQUAL(tw_writer_close(w, &info), TW_OK);
	free(d);
	put(*spool, 3, 1, 0, 0, 0); /* is in the recording */
	put(*spool, 1, 4, 0, 2, 1);
	put(*spool, 2, 2, 0, 1, 0);
	put(*spool, 0, 5, 1, 0, 1);
	put(*spool, 5, 3, 0, 1, 0);
}

/* The values of a thread's chunk are those of the buffers from `first` to `last`. */
static void check_chunk(const struct tw_recording *r, size_t thread, size_t k, uint64_t first, uint64_t last)
{
	struct tw_chunk c = {0};
	EQUAL(tw_recording_chunk(r, thread, k, &c), TW_OK);
	EQUAL(c.n_m, (last - first + 1) * RECORDS);
	EQUAL(c.sequence, k);
	for (size_t i = 0; i < c.n_m; i++)
		CHECK(c.m[i] == 1000 * thread + 100 * (first + i / RECORDS) + i % RECORDS);
	tw_chunk_release(&c);
}

/* n_modules: one of each buffer, also of the one whose chunk was in the recording. */
static void check_all(size_t n_modules)
{
	struct tw_recording *r;
	EQUAL(tw_recording_open("rec.tw", &r), TW_OK);
	EQUAL(tw_recording_n_problems(r), 0);
	EQUAL(tw_recording_n_modules(r), n_modules);
	EQUAL(tw_recording_n_threads(r), THREADS);
	EQUAL(tw_recording_thread(r, 0)->n_chunks, 3);
	EQUAL(tw_recording_thread(r, 1)->n_chunks, 1);
	check_chunk(r, 0, 0, 1, 1);
	check_chunk(r, 0, 1, 2, 3);
	check_chunk(r, 0, 2, 4, 4);
	check_chunk(r, 1, 0, 5, 5);
	EQUAL(tw_recording_chunk_info(r, 0, 1)->first_insn, 3 * RECORDS);
	EQUAL(tw_recording_chunk_info(r, 0, 2)->first_insn, 9 * RECORDS);
	EQUAL(tw_recording_info(r)->complete, 0);
	SAME_TEXT(tw_recording_info(r)->failure, "the recorder was killed");
	tw_recording_close(r);
	EQUAL(access("rec.tw/" TW_SPOOL_FILE, F_OK), -1);
}

static void append(const char *file, const char *text)
{
	FILE *f = fopen(file, "ab");
	fputs(text, f);
	fclose(f);
}

static void test_rest(void)
{
	struct tw_spool *s;
	uint64_t buffers, lost;
	make(&s);
	tw_spool_free(s);
	append("rec.tw/thread-0000", "half a chunk");
	append("rec.tw/code", "half a block");
	append("rec.tw/thread-0001", "half a header");
	EQUAL(tw_unspool("rec.tw", &buffers, &lost), TW_OK);
	EQUAL(buffers, 4);
	EQUAL(lost, 0);
	check_all(5);
	EQUAL(tw_unspool("rec.tw", &buffers, &lost), TW_OK);
	EQUAL(buffers, 0);
}

/* It was broken off when the first chunks were written. */
static void test_again(void)
{
	struct tw_spool *s;
	uint64_t buffers, lost;
	make(&s);
	put(s, 1, 4, 0, 0, 1); /* as if it were not there */
	tw_spool_free(s);
	EQUAL(rename("rec.tw/" TW_SPOOL_FILE, "kept"), 0);
	EQUAL(link("kept", "rec.tw/" TW_SPOOL_FILE), 0);
	EQUAL(tw_unspool("rec.tw", &buffers, &lost), TW_OK);
	EQUAL(buffers, 3);
	EQUAL(link("kept", "rec.tw/" TW_SPOOL_FILE), 0);
	const int dir = open("rec.tw", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EQUAL(tw_spool_open(dir, &s), TW_OK);
	put(s, 1, 4, 0, 2, 1);
	tw_spool_free(s);
	close(dir);
	EQUAL(tw_unspool("rec.tw", &buffers, &lost), TW_OK);
	EQUAL(buffers, 1);
	check_all(6); /* buffer 4 was put twice; of the others none is told of again */
	unlink("kept");
}

/* A buffer whose descriptor had not come to the code file. */
static void test_uncoded(void)
{
	struct tw_spool *s;
	struct tw_recording *r;
	uint64_t buffers, lost;
	struct tw_descriptor *d = unit_descriptor(FRAGMENT + 1, 3, 1, &load, 1);
	make(&s);
	EQUAL(tw_spool_describe(s, (const uint8_t *)d, d->bytes, described + d->bytes), TW_OK);
	CHECK(tw_spool_write_described(s, described));
	described += d->bytes;
	fragment = FRAGMENT + 1;
	put(s, 0, 5, 1, 0, 1);
	fragment = FRAGMENT;
	tw_spool_free(s);
	free(d);
	EQUAL(tw_unspool("rec.tw", &buffers, &lost), TW_OK);
	EQUAL(buffers, 4);
	EQUAL(lost, 0);
	check_all(5);
	EQUAL(tw_recording_open("rec.tw", &r), TW_OK);
	EQUAL(tw_recording_n_descriptors(r), 2);
	tw_recording_close(r);
}

/* It was killed when it had listed the kept translations that did not run: their descriptors are in the code file, too. */
static void test_idle(void)
{
	static const uint32_t numbers[] = {FRAGMENT + 1};
	struct tw_spool *s;
	struct tw_recording *r;
	struct tw_writer *w;
	uint64_t buffers, lost;
	struct tw_descriptor *d = unit_descriptor(FRAGMENT + 1, 3, 1, &load, 1);
	make(&s);
	EQUAL(tw_spool_describe(s, (const uint8_t *)d, d->bytes, described + d->bytes), TW_OK);
	CHECK(tw_spool_write_described(s, described));
	tw_spool_free(s);
	EQUAL(tw_recording_open("rec.tw", &r), TW_OK);
	const int dir = open("rec.tw", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EQUAL(tw_writer_append(dir, r, &w), TW_OK);
	EQUAL(tw_writer_descriptors(w, d, d->bytes), TW_OK);
	EQUAL(tw_writer_block(w, TW_BLOCK_IDLE, numbers, sizeof numbers), TW_OK);
	const struct tw_recording_info info = {.failure = (char *)""};
	EQUAL(tw_writer_close(w, &info), TW_OK);
	tw_recording_close(r);
	close(dir);
	free(d);
	EQUAL(tw_unspool("rec.tw", &buffers, &lost), TW_OK);
	EQUAL(buffers, 4);
	EQUAL(lost, 0);
	check_all(5);
}

/* After a buffer whose descriptors are missing, and after a missing chunk, nothing of the thread is taken. */
static void test_lost(void)
{
	struct tw_spool *s;
	struct tw_recording *r;
	uint64_t buffers, lost;
	make(&s);
	described++;
	put(s, 5, 3, 0, 1, 0);
	described--;
	put(s, 0, 5, 1, 1, 1);
	tw_spool_free(s);
	EQUAL(tw_unspool("rec.tw", &buffers, &lost), TW_OK);
	EQUAL(buffers, 1);
	EQUAL(lost, 3);
	EQUAL(tw_recording_open("rec.tw", &r), TW_OK);
	EQUAL(tw_recording_n_threads(r), 1);
	EQUAL(tw_recording_thread(r, 0)->n_chunks, 2);
	tw_recording_close(r);
}

/* Somebody writes it. */
static void test_locked(void)
{
	struct tw_spool *s;
	uint64_t buffers, lost;
	make(&s);
	tw_spool_free(s);
	const int dir = open("rec.tw", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EQUAL(flock(dir, LOCK_EX), 0);
	EQUAL(tw_unspool("rec.tw", &buffers, &lost), TW_OK);
	EQUAL(buffers, 0);
	EQUAL(access("rec.tw/" TW_SPOOL_FILE, F_OK), 0);
	close(dir);
}

/* What is no spool of ours stays, and is told of. */
static void test_foreign(void)
{
	struct tw_spool *s;
	uint64_t buffers, lost;
	make(&s);
	tw_spool_free(s);
	EQUAL(truncate("rec.tw/" TW_SPOOL_FILE, 10), 0);
	EQUAL(tw_unspool("rec.tw", &buffers, &lost), TW_ERR_DAMAGED);
	EQUAL(tw_unspool("no such", &buffers, &lost), TW_OK);
}

int main(void)
{
	char name[PATH_MAX];
	unit_enter_directory(name);
	test_rest();
	test_again();
	test_uncoded();
	test_idle();
	test_lost();
	test_locked();
	test_foreign();
	unit_leave_directory(name);
	return UNIT_END();
}
