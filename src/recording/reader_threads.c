/* The scan of the files of threads: the headers of their chunks. */
#include "recording/reader_state.h"
#include "base/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* No chunk holds more than this; a larger size in a header is damage. */
#define MAX_SECTION (512ull << 20)

void tw_reader_sum(struct tw_totals *t, const struct tw_chunk_info *c)
{
	t->insns += c->insns;
	t->blocks += c->blocks;
	t->refs += c->refs;
	t->reads += c->reads;
	t->writes += c->writes;
	t->gaps += c->gaps + ((c->flags & (TW_CHUNK_TORN | TW_CHUNK_LAST)) == TW_CHUNK_TORN);
	t->stamps += c->stamps;
	t->chunks++;
	for (int i = 0; i < TW_NSTREAMS; i++) {
		t->raw[i] += c->raw[i];
		t->coded[i] += c->coded[i];
		t->stored[i] += c->stored[i];
	}
}

static uint64_t sections_bytes(const struct tw_file_chunk *h)
{
	return h->stored[0] + h->stored[1] + h->stored[2];
}

static int sizes_ok(const struct tw_file_chunk *h)
{
	for (int i = 0; i < TW_NSTREAMS; i++)
		if (h->raw[i] > MAX_SECTION || h->coded[i] > MAX_SECTION || h->stored[i] > ZSTD_compressBound(MAX_SECTION))
			return 0;
	return h->coded[TW_STREAM_E] == h->raw[TW_STREAM_E] && !(h->raw[TW_STREAM_C] % 2) && !(h->raw[TW_STREAM_M] % 8) &&
	       !(h->raw[TW_STREAM_E] % 8);
}

static int add_chunk(struct tw_recording *r, struct tw_reader_thread *t, const struct tw_file_chunk *h, uint64_t at)
{
	if (t->info.n_chunks ? h->sequence != ((struct tw_chunk_info *)t->chunks.items)[t->chunks.n - 1].sequence + 1 : h->sequence != 0)
		tw_reader_problem(r, TW_ERR_DAMAGED, "%s: chunks before chunk %u at offset %llu are missing", t->name, h->sequence,
		                  (unsigned long long)at);
	struct tw_chunk_info *c = tw_reader_add(&t->chunks, sizeof *c);
	struct tw_reader_checks *checks = tw_reader_add(&t->checks, sizeof *checks);
	if (!c || !checks)
		return tw_fail(TW_ERR_MEMORY, "%s", t->name);
	*c = (struct tw_chunk_info){
	    .offset = at,
	    .sequence = h->sequence,
	    .upper = h->upper,
	    .flags = h->flags,
	    .first_insn = h->first_insn,
	    .first_block = h->first_block,
	    .first_ref = h->first_ref,
	    .insns = h->insns,
	    .blocks = h->blocks,
	    .refs = h->refs,
	    .reads = h->reads,
	    .writes = h->writes,
	    .gaps = h->gaps,
	    .stamps = h->stamps,
	};
	memcpy(c->raw, h->raw, sizeof c->raw);
	memcpy(c->coded, h->coded, sizeof c->coded);
	memcpy(c->stored, h->stored, sizeof c->stored);
	memcpy(checks->section, h->section_check, sizeof checks->section);
	t->info.n_chunks++;
	tw_reader_sum(&t->info.totals, c);
	return TW_OK;
}

/* A place in a thread file where no header of it stands, or a whole one of another: notes it and says where to go on. */
static uint64_t resync(struct tw_recording *r, const struct tw_reader_thread *t, const struct tw_reader_file *f, uint64_t at)
{
	uint64_t next = tw_reader_next_header(f, at + 1, TW_CHUNK_MAGIC, sizeof(struct tw_file_chunk));
	uint32_t sequence = t->chunks.n ? ((struct tw_chunk_info *)t->chunks.items)[t->chunks.n - 1].sequence + 1 : 0;
	if (f->n - at < sizeof(struct tw_file_chunk))
		tw_reader_problem(r, TW_ERR_TRUNCATED, "%s: chunk %u at offset %llu", t->name, sequence, (unsigned long long)at);
	else
		tw_reader_problem(r, TW_ERR_CHECKSUM, "%s: the header of chunk %u at offset %llu, %llu bytes passed over", t->name,
		                  sequence, (unsigned long long)at, (unsigned long long)(next - at));
	return next;
}

static int scan_thread(struct tw_recording *r, struct tw_reader_thread *t, const struct tw_reader_file *f, uint64_t at)
{
	while (at < f->n) {
		struct tw_file_chunk h;
		if (tw_reader_header_at(f, at, TW_CHUNK_MAGIC, sizeof h))
			memcpy(&h, f->bytes + at, sizeof h);
		else
			h.version = 0;
		if (h.version != r->info.version || h.thread != t->info.serial || !sizes_ok(&h)) {
			at = resync(r, t, f, at);
			continue;
		}
		if (f->n - at - sizeof h < sections_bytes(&h)) {
			uint64_t next = tw_reader_next_header(f, at + 1, TW_CHUNK_MAGIC, sizeof h);
			tw_reader_problem(r, TW_ERR_TRUNCATED, "%s: chunk %u at offset %llu", t->name, h.sequence, (unsigned long long)at);
			at = next;
			continue;
		}
		int error = add_chunk(r, t, &h, at);
		if (error)
			return error;
		at += sizeof h + sections_bytes(&h);
	}
	return TW_OK;
}

static void read_thread_header(struct tw_recording *r, struct tw_reader_thread *t, const struct tw_reader_file *f)
{
	struct tw_file_thread h;
	if (!tw_reader_header_at(f, 0, TW_THREAD_MAGIC, sizeof h)) {
		tw_reader_problem(r, f->n < sizeof h ? TW_ERR_TRUNCATED : TW_ERR_CHECKSUM, "%s: the header of the file", t->name);
		return;
	}
	memcpy(&h, f->bytes, sizeof h);
	t->info.pid = h.pid;
	t->info.tid = h.tid;
	t->info.parent_pid = h.parent_pid;
	t->info.parent_tid = h.parent_tid;
}

static int read_thread(struct tw_recording *r, uint32_t serial, const char *name)
{
	struct tw_reader_file f;
	int error = tw_reader_map(r, name, &f);
	struct tw_reader_thread *t = error ? NULL : tw_reader_add(&r->threads, sizeof *t);
	if (t) {
		t->info.serial = serial;
		snprintf(t->name, sizeof t->name, "%s", name);
		read_thread_header(r, t, &f);
		error = scan_thread(r, t, &f, f.n < sizeof(struct tw_file_thread) ? f.n : sizeof(struct tw_file_thread));
	} else if (!error) {
		error = tw_fail(TW_ERR_MEMORY, "%s", name);
	}
	tw_reader_unmap(&f);
	return error;
}

static int list_threads(const struct tw_recording *r, struct tw_reader_list *serials)
{
	int fd = openat(r->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		int error = tw_fail(TW_ERR_SYSTEM, "the directory: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return error;
	}
	for (struct dirent *e; (e = readdir(d));) {
		uint32_t serial, *item;
		if (tw_thread_file(e->d_name, &serial) && (item = tw_reader_add(serials, sizeof *item)))
			*item = serial;
	}
	closedir(d);
	if (serials->n)
		qsort(serials->items, serials->n, sizeof(uint32_t), tw_by_number32);
	return TW_OK;
}

int tw_reader_threads(struct tw_recording *r)
{
	struct tw_reader_list serials = {0};
	int error = list_threads(r, &serials);
	for (size_t i = 0; !error && i < serials.n; i++) {
		char name[32];
		uint32_t serial = ((uint32_t *)serials.items)[i];
		snprintf(name, sizeof name, TW_THREAD_FILE, serial);
		error = read_thread(r, serial, name);
	}
	free(serials.items);
	return error;
}
