/*
 * A small recording made by hand, for unit tests of what reads recordings.
 *
 * Two threads, 0 and 1, of MADE_CHUNKS chunks each. A chunk runs fragment 16 (two instructions: a read of 8 bytes at a recorded address, a
 * modify of 4 bytes at [rbx]) MADE_RUNS times; the n-th execution of a thread reads address 0x10000 * (thread + 1) + n.
 */
#ifndef TW_TEST_MADE_RECORDING_H
#define TW_TEST_MADE_RECORDING_H

#include "chunk.h"
#include "recording/recording.h"
#include "unit.h"
#include "unit_directory.h"

#include <sys/stat.h>

enum { MADE_CHUNKS = 7, MADE_RUNS = 20, MADE_THREADS = 2 };

static inline struct tw_descriptor *made_code(void)
{
	static const struct tw_op ops[] = {
	    {.kind = TW_OP_RECORD, .insn = 0, .base = TW_RAX, .index = TW_NOREG, .value = 0},
	    {.kind = TW_OP_REF, .insn = 0, .base = TW_RAX, .index = TW_NOREG, .size = 8, .type = TW_READ},
	    {.kind = TW_OP_REF, .insn = 1, .base = TW_RBX, .index = TW_NOREG, .size = 4, .type = TW_MODIFY},
	};
	static const struct made_fragment f = {16, 0x400000, {2}, ops, 3, 1, TW_FORMAT_DEP};
	return make_descriptor(&f);
}

static inline void write_made_chunk(struct tw_writer *w, uint32_t thread, uint32_t sequence)
{
	const struct tw_thread_info t = {.serial = thread, .pid = 100, .tid = 100 + thread};
	struct made_chunk *k = make_chunk();
	struct tw_chunk *c = &k->chunk;
	put_keyframe(k, 0);
	for (uint64_t i = 0; i < MADE_RUNS; i++) {
		put_tag(k, 16);
		put_value(k, 0x10000 * (thread + 1) + sequence * MADE_RUNS + i);
	}
	c->thread = thread;
	c->sequence = sequence;
	c->blocks = c->reads = c->writes = MADE_RUNS;
	c->reads = c->insns = c->refs = 2 * MADE_RUNS;
	c->first_block = (uint64_t)sequence * MADE_RUNS;
	c->first_insn = c->first_ref = (uint64_t)sequence * 2 * MADE_RUNS;
	EQUAL(tw_writer_chunk(w, &t, c, 0, 1), TW_OK);
	free(k);
}

/* Writes the recording into the new directory `dir` and opens it. */
static inline struct tw_recording *make_recording(const char *dir)
{
	char *argv[] = {"program", NULL};
	struct tw_recording_info info = {.format = TW_FORMAT_DEP,
	                                 .argc = 1,
	                                 .argv = argv,
	                                 .program = "/bin/program",
	                                 .cwd = "/",
	                                 .host = "host",
	                                 .cpu = "cpu",
	                                 .kernel = "kernel",
	                                 .failure = ""};
	struct tw_writer *w = NULL;
	struct tw_recording *r = NULL;
	const struct tw_descriptor *d = made_code();
	EQUAL(mkdir(dir, 0777), 0);
	EQUAL(tw_writer_create(dir, &info, &w), TW_OK);
	EQUAL(tw_writer_descriptors(w, d, d->bytes), TW_OK);
	for (uint32_t sequence = 0; sequence < MADE_CHUNKS; sequence++)
		for (uint32_t thread = 0; thread < MADE_THREADS; thread++)
			write_made_chunk(w, thread, sequence);
	EQUAL(tw_writer_close(w, &info), TW_OK);
	EQUAL(tw_recording_open(dir, &r), TW_OK);
	return r;
}

#endif
