/* Changes the files of threads: their headers, chunks and what is in these. */
#include "events.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* A chunk on its way, its sections decompressed. */
struct made {
	struct tw_file_chunk head;
	struct tw_bytes section[TW_NSTREAMS];
	int lies; /* sizes in the header are not put right */
};

static void take_chunk(struct made *k, const uint8_t *at)
{
	memcpy(&k->head, at, sizeof k->head);
	at += sizeof k->head;
	for (int i = 0; i < TW_NSTREAMS; i++) {
		decompress(at, k->head.stored[i], k->head.coded[i], &k->section[i]);
		at += k->head.stored[i];
	}
}

static void put_chunk(struct made *k, struct tw_bytes *to)
{
	struct tw_bytes stored = {0};
	struct tw_file_chunk *h = &k->head;
	for (int i = 0; i < TW_NSTREAMS; i++) {
		size_t was = stored.n;
		compress(&k->section[i], &stored);
		h->stored[i] = stored.n - was;
		h->section_check[i] = XXH64(stored.at + was, stored.n - was, 0);
		if (!k->lies)
			h->coded[i] = k->section[i].n;
	}
	if (!k->lies)
		h->raw[TW_STREAM_E] = k->section[TW_STREAM_E].n;
	h->check = XXH64(h, offsetof(struct tw_file_chunk, check), 0);
	if (tw_bytes_append(to, h, sizeof *h) || tw_bytes_append(to, stored.at, stored.n))
		die("memory");
	free(stored.at);
}

/* ---- what is changed in a chunk ---- */

static void change_head(struct made *k)
{
	struct tw_file_chunk *h = &k->head;
	switch (below(4)) {
	case 0: /* version to stamps */
		twist(&h->version, offsetof(struct tw_file_chunk, first_insn) - offsetof(struct tw_file_chunk, version));
		break;
	case 1:
		k->lies = 1;
		twist(h->raw, sizeof h->raw);
		break;
	case 2:
		k->lies = 1;
		twist(h->coded, sizeof h->coded);
		break;
	default:
		twist(&h->first_insn, offsetof(struct tw_file_chunk, raw) - offsetof(struct tw_file_chunk, first_insn));
	}
}

/* Bytes of a section as they are coded; those of M and C begin with the lengths of their parts. */
static void change_coded(struct made *k)
{
	struct tw_bytes *b = &k->section[below(2)];
	switch (below(4)) {
	case 0:
		rearrange(b, 0, 1);
		break;
	case 1:
		twist(b->at, b->n < 24 ? b->n : 24);
		break;
	default:
		for (size_t n = 1 + below(20); n && b->n > 24; n--)
			twist(b->at + 24, b->n - 24);
	}
}

static void take_section(struct made *k, const struct tw_coded *coded, unsigned stream)
{
	k->section[stream].n = 0;
	k->head.raw[stream] = coded->raw[stream];
	if (tw_coded_section(coded, stream, &k->section[stream]))
		die("memory");
}

static void change_decoded(const struct tw_recording *r, size_t thread, size_t chunk, struct made *k)
{
	struct tw_chunk c;
	struct tw_coded *coded;
	if (tw_recording_chunk(r, thread, chunk, &c))
		die("a chunk is damaged already");
	if (!change_executions(r, &c, &coded)) {
		take_section(k, coded, TW_STREAM_C);
		take_section(k, coded, TW_STREAM_M);
	}
	tw_chunk_release(&c);
}

static void change_chunk(const struct tw_recording *r, size_t thread, size_t chunk, struct made *k)
{
	switch (below(8)) {
	case 0:
		change_head(k);
		break;
	case 1:
		change_coded(k);
		break;
	case 2:
	case 3:
		for (size_t n = 1 + below(4); n; n--)
			change_events(&k->section[TW_STREAM_E]);
		break;
	default:
		change_decoded(r, thread, chunk, k);
	}
}

/* ---- files ---- */

static void change_thread_header(struct tw_file_thread *h)
{
	twist(&h->version, offsetof(struct tw_file_thread, check) - offsetof(struct tw_file_thread, version));
	h->check = XXH64(h, offsetof(struct tw_file_thread, check), 0);
}

static void copy_changed(const struct tw_recording *r, size_t thread, const struct tw_bytes *file, struct tw_bytes *out)
{
	struct tw_file_thread *h;
	size_t n = tw_recording_thread(r, thread)->n_chunks, changed = below(n);
	if (tw_bytes_append(out, file->at, sizeof *h))
		die("memory");
	if (once_in(10))
		change_thread_header((struct tw_file_thread *)(void *)out->at);
	for (size_t i = 0; i < n; i++) {
		struct made k = {0};
		take_chunk(&k, file->at + tw_recording_chunk_info(r, thread, i)->offset);
		if (i == changed)
			change_chunk(r, thread, i, &k);
		for (size_t times = i == changed && once_in(20) ? below(3) : 1; times; times--)
			put_chunk(&k, out);
		for (int s = 0; s < TW_NSTREAMS; s++)
			free(k.section[s].at);
	}
}

/* The thread's file; once in a while nothing, or under another's name. */
static void copy_thread(const struct tw_recording *r, size_t thread, int from, int to, int changes)
{
	struct tw_bytes file = {0}, out = {0};
	char name[32];
	snprintf(name, sizeof name, TW_THREAD_FILE, tw_recording_thread(r, thread)->serial);
	read_file(from, name, &file);
	if (changes)
		copy_changed(r, thread, &file, &out);
	if (changes && once_in(30))
		snprintf(name, sizeof name, TW_THREAD_FILE, 9000 + (unsigned)below(3));
	if (!changes || !once_in(40))
		write_file(to, name, changes ? &out : &file);
	free(file.at);
	free(out.at);
}

void copy_threads(const struct tw_recording *r, int from, int to, int changes)
{
	size_t n = tw_recording_n_threads(r), changed = below(n);
	for (size_t i = 0; i < n; i++)
		copy_thread(r, i, from, to, changes && i == changed);
}
