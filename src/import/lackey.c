#include "import/lackey.h"
#include "base/channel.h"
#include "import/fragments.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A chunk is written when it has this many tags or values. `*_ROOM` has room for one more fragment. */
enum { BATCH = 4096, CHUNK_C = 1 << 18, CHUNK_M = 1 << 17, LEVEL = 3 };
enum { C_ROOM = CHUNK_C + 16, M_ROOM = CHUNK_M + 2 * TW_FRAGMENT_REFS, E_ROOM = 512, CODE_ROOM = 1 << 20 };
enum { DESCRIPTOR_ROOM = 1 << 17 };

struct import {
	struct tw_trace *trace;
	const char *name, *dir;
	struct tw_import_facts *facts;
	struct tw_writer *writer; /* NULL until there is something to write */
	struct tw_thread_info thread;
	struct tw_recording_info info;
	char command[sizeof((struct tw_trace_facts *)0)->command];
	struct tw_fragments *fragments;
	uint32_t position;            /* of the fragment under way */
	uint32_t upper;               /* upper half of the fragment numbers */
	int has_insn;                 /* `insn` is the last instruction, which is not in the fragment yet */
	struct tw_fragment_insn insn; /* its references' addresses are at the end of chunk.m already */
	uint64_t n_fragments;
	struct tw_chunk chunk;
	size_t n_code;
	uint16_t c[C_ROOM];
	uint64_t m[M_ROOM];
	_Alignas(8) uint8_t e[E_ROOM];
	_Alignas(8) uint8_t code[CODE_ROOM + DESCRIPTOR_ROOM];
};

/* ---- chunks ---- */

/* Every chunk begins with a keyframe; its register values do not matter. */
static void start_chunk(struct import *im)
{
	const struct tw_event_header h = {TW_TAG_EVENT, TW_EVENT_KEYFRAME, sizeof(struct tw_keyframe)};
	const struct tw_keyframe k = {.upper = im->upper};
	struct tw_chunk next = {
	    .sequence = im->chunk.sequence,
	    .upper = im->upper,
	    .first_insn = im->chunk.first_insn + im->chunk.insns,
	    .first_block = im->chunk.first_block + im->chunk.blocks,
	    .first_ref = im->chunk.first_ref + im->chunk.refs,
	    .c = im->c,
	    .m = im->m,
	    .e = im->e,
	};
	im->chunk = next;
	im->c[im->chunk.n_c++] = TW_TAG_EVENT;
	memcpy(im->e, &h, sizeof h);
	memcpy(im->e + sizeof h, &k, sizeof k);
	im->chunk.n_e = sizeof h + sizeof k;
}

static int write_code(struct import *im)
{
	int error = tw_writer_descriptors(im->writer, im->code, im->n_code);
	im->n_code = 0;
	return error;
}

static int write_chunk(struct import *im, uint32_t flags)
{
	int error = write_code(im);
	im->facts->unwritten |= error != 0;
	if (error)
		return error;
	im->chunk.flags = flags;
	error = tw_writer_chunk(im->writer, &im->thread, &im->chunk, 0, LEVEL);
	im->facts->unwritten |= error != 0;
	im->chunk.sequence++;
	start_chunk(im);
	return error;
}

/* ---- fragments ---- */

static int describe(struct import *im)
{
	im->n_code += tw_fragments_describe(im->fragments, im->position, im->code + im->n_code);
	im->n_fragments++;
	return im->n_code >= CODE_ROOM ? write_code(im) : 0;
}

/* The fragment under way is at its end. */
static int end_fragment(struct import *im)
{
	struct tw_chunk *c = &im->chunk;
	struct tw_fragment_counts n = tw_fragments_counts(im->fragments, im->position);
	int is_new;
	uint32_t number = tw_fragments_number(im->fragments, im->position, &is_new);
	int error = is_new ? describe(im) : 0;
	if (number >> 16 != im->upper) {
		im->upper = number >> 16;
		im->c[c->n_c++] = TW_TAG_UPPER;
		im->c[c->n_c++] = (uint16_t)im->upper;
	}
	im->c[c->n_c++] = (uint16_t)number;
	im->position = 0;
	c->insns += n.insns;
	c->refs += n.refs;
	c->reads += n.reads;
	c->writes += n.writes;
	c->blocks++;
	if (!error && (c->n_c >= CHUNK_C || c->n_m >= CHUNK_M))
		error = write_chunk(im, 0);
	return error;
}

/* The last instruction is whole: makes it part of the fragment. */
static int end_insn(struct import *im)
{
	if (!im->has_insn)
		return 0;
	im->position = tw_fragments_step(im->fragments, im->position, &im->insn);
	im->has_insn = 0;
	return im->position ? 0 : tw_fail(TW_ERR_MEMORY, "fragments");
}

static int take_insn(struct import *im, const struct tw_trace_item *item)
{
	int error = end_insn(im);
	if (!error && im->position && tw_fragments_ends(im->fragments, im->position, item->address))
		error = end_fragment(im);
	im->insn.pc = item->address;
	im->insn.length = (uint8_t)item->bytes;
	im->insn.n_refs = 0;
	im->has_insn = 1;
	im->facts->insns++;
	return error;
}

static void take_ref(struct import *im, const struct tw_trace_item *item)
{
	uint32_t type = item->type == 'L' ? TW_READ : item->type == 'S' ? TW_WRITE : TW_MODIFY;
	if (!im->has_insn || im->insn.n_refs == TW_FRAGMENT_REFS) {
		im->facts->orphans++;
		return;
	}
	im->insn.refs[im->insn.n_refs++] = type << 24 | item->bytes;
	im->m[im->chunk.n_m++] = item->address;
}

/* ---- the recording ---- */

/* Cuts the command line into words. */
static int take_command(struct import *im)
{
	const char *command = tw_trace_facts(im->trace)->command;
	snprintf(im->command, sizeof im->command, "%s", command[0] ? command : im->name);
	im->info.argv = calloc(sizeof im->command / 2 + 1, sizeof *im->info.argv);
	if (!im->info.argv)
		return tw_fail(TW_ERR_MEMORY, "command line");
	char *rest = NULL;
	for (char *word = strtok_r(im->command, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		im->info.argv[im->info.argc++] = word;
	return 0;
}

static int open_recording(struct import *im)
{
	int error = take_command(im);
	if (!error)
		error = tw_directory_prepare(im->dir);
	im->facts->unwritten |= error != 0;
	if (error)
		return error;
	im->info.format = TW_FORMAT_DEP;
	im->info.start = time(NULL);
	im->info.program = im->info.argc ? im->info.argv[0] : "";
	im->info.cwd = im->info.host = im->info.cpu = im->info.kernel = im->info.failure = "";
	im->thread.pid = im->thread.tid = tw_trace_facts(im->trace)->pid;
	start_chunk(im);
	error = tw_writer_create(im->dir, &im->info, &im->writer);
	im->facts->unwritten |= error != 0;
	if (error)
		tw_directory_abandon(im->dir);
	return error;
}

static int close_recording(struct import *im, int error)
{
	char why[512] = "";
	if (error)
		tw_failure_sentence(error, why, sizeof why);
	im->info.totals = *tw_writer_totals(im->writer);
	im->info.totals.fragments = im->n_fragments;
	im->info.complete = !error;
	im->info.failure = why;
	int closed = tw_writer_close(im->writer, &im->info);
	return error ? tw_fail(TW_ERR_SYSTEM, "%s", why) : closed;
}

static int take_items(struct import *im, const struct tw_trace_item *items, size_t n)
{
	int error = 0;
	for (size_t i = 0; i < n && !error; i++) {
		if (items[i].type != 'I') {
			take_ref(im, &items[i]);
			continue;
		}
		if (!im->writer)
			error = open_recording(im);
		if (!error)
			error = take_insn(im, &items[i]);
	}
	return error;
}

static int read_all(struct import *im)
{
	struct tw_trace_item *items = malloc(BATCH * sizeof *items);
	ssize_t n = items ? 1 : tw_fail(TW_ERR_MEMORY, "trace");
	int error = 0;
	while (n > 0 && !error) {
		n = tw_trace_next(im->trace, items, BATCH);
		if (n > 0)
			error = take_items(im, items, (size_t)n);
	}
	free(items);
	if (error || n < 0)
		return error ? error : (int)n;
	error = end_insn(im);
	if (!error && im->position)
		error = end_fragment(im);
	if (!error && im->writer)
		error = write_chunk(im, TW_CHUNK_LAST);
	return error;
}

int tw_import_lackey(struct tw_trace *t, const char *name, const char *dir, struct tw_import_facts *facts)
{
	struct import *im = calloc(1, sizeof *im);
	*facts = (struct tw_import_facts){0};
	if (!im)
		return tw_fail(TW_ERR_MEMORY, "import");
	im->trace = t;
	im->name = name;
	im->dir = dir;
	im->facts = facts;
	im->fragments = tw_fragments_new();
	int error = im->fragments ? read_all(im) : tw_fail(TW_ERR_MEMORY, "fragments");
	if (im->writer)
		error = close_recording(im, error);
	tw_fragments_free(im->fragments);
	free(im->info.argv);
	free(im);
	return error;
}
