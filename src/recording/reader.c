/*
 * The reader. Opening scans the headers of all blocks and chunks; what they frame is read, checked and decompressed when asked for
 * (chunks) or at once (descriptors and modules). Where a header is damaged the scan goes on at the next one that is whole.
 */
#include "recording/recording.h"
#include "recording/array.h"
#include "recording/transform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

/* No chunk holds more than this; a larger size in a header is damage. */
#define MAX_SECTION (512ull << 20)
#define MAX_BLOCK   (4ull << 30)

/* A growing array. */
struct list {
	void *items;
	size_t n, room;
};

struct thread {
	struct tw_thread_info info;
	struct list chunks; /* struct tw_chunk_info */
	struct list checks; /* struct checks, beside them */
	char name[32];
};

struct checks {
	uint64_t section[TW_NSTREAMS];
};

struct tw_recording {
	int dir_fd; /* a thread's file is opened to be read and closed again: there may be more of them than a process may have open */
	struct tw_recording_info info;
	struct tw_totals sum;
	struct list threads;     /* struct thread */
	struct list modules;     /* struct tw_module */
	struct list problems;    /* struct tw_problem */
	struct list descriptors; /* const struct tw_descriptor * */
	struct tw_processes processes;
	struct list blocks;                        /* void *: decompressed blocks of the code file */
	const struct tw_descriptor **table[65536]; /* by upper half, then by lower */
	struct tw_value_map *values;
};

/* A file mapped for scanning. */
struct file {
	const uint8_t *bytes;
	uint64_t n;
};

static void *list_add(struct list *l, size_t size)
{
	void *items = tw_array_room(l->items, l->n, &l->room, size);
	if (!items)
		return NULL;
	l->items = items;
	void *item = (char *)l->items + l->n++ * size;
	memset(item, 0, size);
	return item;
}

/* Notes damage. Memory that is missing for the note is not worth failing for. */
static void __attribute__((format(printf, 3, 4))) add_problem(struct tw_recording *r, int error, const char *format, ...)
{
	struct tw_problem *p = list_add(&r->problems, sizeof *p);
	va_list args;
	va_start(args, format);
	if (p && vasprintf(&p->text, format, args) < 0)
		p->text = NULL;
	if (p)
		p->error = error;
	if (p && !p->text)
		r->problems.n--;
	va_end(args);
}

static struct thread *thread_at(const struct tw_recording *r, size_t i)
{
	return (struct thread *)r->threads.items + i;
}

/* ---- files ---- */

static int open_file(const struct tw_recording *r, const char *name, int *fd)
{
	*fd = openat(r->dir_fd, name, O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? tw_fail(errno == ENOENT ? TW_ERR_NOT_FOUND : TW_ERR_SYSTEM, "%s: %s", name, strerror(errno)) : TW_OK;
}

static int map_file(const struct tw_recording *r, const char *name, struct file *f)
{
	struct stat st;
	int fd;
	memset(f, 0, sizeof *f);
	int error = open_file(r, name, &fd);
	if (error)
		return error;
	if (fstat(fd, &st))
		error = tw_fail(TW_ERR_SYSTEM, "%s: %s", name, strerror(errno));
	else if (st.st_size)
		f->bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (f->bytes == MAP_FAILED)
		error = tw_fail(TW_ERR_SYSTEM, "%s: %s", name, strerror(errno));
	f->n = error ? 0 : (uint64_t)st.st_size;
	close(fd);
	return error;
}

static void unmap_file(struct file *f)
{
	if (f->n)
		munmap((void *)f->bytes, f->n);
}

/* Whether a whole header of `size` bytes, the last 8 of them its checksum, begins at `at`. */
static int header_at(const struct file *f, uint64_t at, uint64_t magic, size_t size)
{
	uint64_t found, check;
	if (at > f->n || f->n - at < size)
		return 0;
	memcpy(&found, f->bytes + at, 8);
	memcpy(&check, f->bytes + at + size - 8, 8);
	return found == magic && check == XXH64(f->bytes + at, size - 8, 0);
}

/* Offset of the first whole header at or after `at`; the file's size if there is none. */
static uint64_t next_header(const struct file *f, uint64_t at, uint64_t magic, size_t size)
{
	while (at < f->n) {
		const uint8_t *p = memmem(f->bytes + at, f->n - at, &magic, sizeof magic);
		if (!p)
			break;
		at = (uint64_t)(p - f->bytes);
		if (header_at(f, at, magic, size))
			return at;
		at++;
	}
	return f->n;
}

/* A section decompressed into fresh memory, at least 8 bytes of it. */
static int unpack(const uint8_t *stored, uint64_t n, uint64_t check, uint64_t n_raw, void **out)
{
	if (XXH64(stored, n, 0) != check)
		return TW_ERR_CHECKSUM;
	*out = malloc(n_raw + 8);
	if (!*out)
		return TW_ERR_MEMORY;
	if (!n_raw && !n)
		return TW_OK;
	size_t got = ZSTD_decompress(*out, n_raw, stored, n);
	if (!ZSTD_isError(got) && got == n_raw)
		return TW_OK;
	free(*out);
	*out = NULL;
	return TW_ERR_DAMAGED;
}

/* ---- the code file ---- */

static int add_descriptor(struct tw_recording *r, const struct tw_descriptor *d)
{
	const struct tw_descriptor ***row = &r->table[d->number >> 16];
	if (!*row)
		*row = calloc(65536, sizeof **row);
	const struct tw_descriptor **item = list_add(&r->descriptors, sizeof *item);
	if (!*row || !item)
		return tw_fail(TW_ERR_MEMORY, "descriptors");
	*item = (*row)[d->number & 0xffff] = d;
	return tw_value_map_add(r->values, NULL, d);
}

static int add_descriptors(struct tw_recording *r, const uint8_t *bytes, uint64_t n, uint64_t offset)
{
	uint64_t at = 0;
	while (at < n) {
		const struct tw_descriptor *d = (const struct tw_descriptor *)(bytes + at);
		if (!tw_descriptor_valid(d, n - at)) {
			add_problem(r, TW_ERR_DAMAGED, TW_CODE_FILE ": the block at offset %llu holds an invalid descriptor at byte %llu",
			            (unsigned long long)offset, (unsigned long long)at);
			return TW_OK;
		}
		int error = add_descriptor(r, d);
		if (error)
			return error;
		at += d->bytes;
	}
	return TW_OK;
}

static int add_modules(struct tw_recording *r, const uint8_t *bytes, uint64_t n, uint64_t offset)
{
	const struct tw_file_module *f;
	for (uint64_t at = 0; at < n; at += sizeof *f + f->path_bytes) {
		f = (const struct tw_file_module *)(bytes + at);
		if (n - at < sizeof *f || f->path_bytes % 8 || n - at - sizeof *f < f->path_bytes || !memchr(f + 1, 0, f->path_bytes)) {
			add_problem(r, TW_ERR_DAMAGED, TW_CODE_FILE ": the block at offset %llu holds an invalid module",
			            (unsigned long long)offset);
			return TW_OK;
		}
		struct tw_module *m = list_add(&r->modules, sizeof *m);
		if (!m)
			return tw_fail(TW_ERR_MEMORY, "modules");
		*m = (struct tw_module){f->address, f->length, f->offset, f->pid, f->prot, f->thread, f->sequence, (const char *)(f + 1)};
	}
	return TW_OK;
}

static int add_notes(struct tw_recording *r, const uint8_t *bytes, uint64_t n, uint64_t offset)
{
	const struct tw_file_note *note;
	for (uint64_t at = 0; at < n; at += sizeof *note + note->text_bytes) {
		note = (const struct tw_file_note *)(bytes + at);
		int error = tw_processes_note(&r->processes, note, n - at);
		if (error == TW_ERR_DAMAGED)
			add_problem(r, error, TW_CODE_FILE ": the block at offset %llu holds an invalid process",
			            (unsigned long long)offset);
		if (error)
			return error == TW_ERR_DAMAGED ? TW_OK : error;
	}
	return TW_OK;
}

static int add_contents(struct tw_recording *r, uint32_t kind, const uint8_t *bytes, uint64_t n, uint64_t offset)
{
	switch (kind) {
	case TW_BLOCK_DESCRIPTORS:
		return add_descriptors(r, bytes, n, offset);
	case TW_BLOCK_MODULES:
		return add_modules(r, bytes, n, offset);
	case TW_BLOCK_PROCESSES:
		return add_notes(r, bytes, n, offset);
	default:
		return TW_OK; /* of a later time, and not needed */
	}
}

static int add_block(struct tw_recording *r, const struct tw_file_block *b, const uint8_t *stored, uint64_t offset)
{
	void *raw = NULL;
	int error = b->raw > MAX_BLOCK ? TW_ERR_DAMAGED : unpack(stored, b->stored, b->section_check, b->raw, &raw);
	if (error == TW_ERR_MEMORY)
		return tw_fail(error, TW_CODE_FILE);
	if (error) {
		add_problem(r, error, TW_CODE_FILE ": the block at offset %llu", (unsigned long long)offset);
		return TW_OK;
	}
	void **keep = list_add(&r->blocks, sizeof *keep);
	if (!keep) {
		free(raw);
		return tw_fail(TW_ERR_MEMORY, TW_CODE_FILE);
	}
	*keep = raw;
	r->sum.code_raw += b->raw;
	r->sum.code_stored += sizeof *b + b->stored;
	return add_contents(r, b->kind, raw, b->raw, offset);
}

static int scan_code(struct tw_recording *r, const struct file *f)
{
	uint64_t at = 0;
	while (at < f->n) {
		struct tw_file_block b;
		if (!header_at(f, at, TW_BLOCK_MAGIC, sizeof b)) {
			uint64_t next = next_header(f, at, TW_BLOCK_MAGIC, sizeof b);
			add_problem(r, next == f->n ? TW_ERR_TRUNCATED : TW_ERR_CHECKSUM,
			            TW_CODE_FILE ": no whole block header at offset %llu, %llu bytes passed over", (unsigned long long)at,
			            (unsigned long long)(next - at));
			at = next;
			continue;
		}
		memcpy(&b, f->bytes + at, sizeof b);
		if (f->n - at - sizeof b < b.stored) {
			add_problem(r, TW_ERR_TRUNCATED, TW_CODE_FILE ": the block at offset %llu", (unsigned long long)at);
			return TW_OK;
		}
		int error = add_block(r, &b, f->bytes + at + sizeof b, at);
		if (error)
			return error;
		at += sizeof b + b.stored;
	}
	return TW_OK;
}

static int read_code(struct tw_recording *r)
{
	struct file f;
	int error = map_file(r, TW_CODE_FILE, &f);
	if (error == TW_ERR_NOT_FOUND) {
		add_problem(r, TW_ERR_MISSING, TW_CODE_FILE);
		return TW_OK;
	}
	if (!error)
		error = scan_code(r, &f);
	unmap_file(&f);
	r->sum.fragments = r->descriptors.n;
	return error;
}

/* ---- thread files ---- */

static void add_to_totals(struct tw_totals *t, const struct tw_chunk_info *c)
{
	t->insns += c->insns;
	t->blocks += c->blocks;
	t->refs += c->refs;
	t->reads += c->reads;
	t->writes += c->writes;
	t->gaps += c->gaps + (c->flags & TW_CHUNK_TORN);
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

static int add_chunk(struct tw_recording *r, struct thread *t, const struct tw_file_chunk *h, uint64_t at)
{
	if (t->info.n_chunks ? h->sequence != ((struct tw_chunk_info *)t->chunks.items)[t->chunks.n - 1].sequence + 1 : h->sequence != 0)
		add_problem(r, TW_ERR_DAMAGED, "%s: chunks before chunk %u at offset %llu are missing", t->name, h->sequence,
		            (unsigned long long)at);
	struct tw_chunk_info *c = list_add(&t->chunks, sizeof *c);
	struct checks *checks = list_add(&t->checks, sizeof *checks);
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
	add_to_totals(&t->info.totals, c);
	return TW_OK;
}

/* A place in a thread file where no whole header stands: notes it and says where to go on. */
static uint64_t resync(struct tw_recording *r, const struct thread *t, const struct file *f, uint64_t at)
{
	uint64_t next = next_header(f, at, TW_CHUNK_MAGIC, sizeof(struct tw_file_chunk));
	uint32_t sequence = t->chunks.n ? ((struct tw_chunk_info *)t->chunks.items)[t->chunks.n - 1].sequence + 1 : 0;
	if (f->n - at < sizeof(struct tw_file_chunk))
		add_problem(r, TW_ERR_TRUNCATED, "%s: chunk %u at offset %llu", t->name, sequence, (unsigned long long)at);
	else
		add_problem(r, TW_ERR_CHECKSUM, "%s: the header of chunk %u at offset %llu, %llu bytes passed over", t->name, sequence,
		            (unsigned long long)at, (unsigned long long)(next - at));
	return next;
}

static int scan_thread(struct tw_recording *r, struct thread *t, const struct file *f, uint64_t at)
{
	while (at < f->n) {
		struct tw_file_chunk h;
		if (header_at(f, at, TW_CHUNK_MAGIC, sizeof h))
			memcpy(&h, f->bytes + at, sizeof h);
		else
			h.version = 0;
		if (h.version != TW_RECORDING_VERSION || h.thread != t->info.serial || !sizes_ok(&h)) {
			at = resync(r, t, f, h.version ? at + 1 : at);
			continue;
		}
		if (f->n - at - sizeof h < sections_bytes(&h)) {
			uint64_t next = next_header(f, at + 1, TW_CHUNK_MAGIC, sizeof h);
			add_problem(r, TW_ERR_TRUNCATED, "%s: chunk %u at offset %llu", t->name, h.sequence, (unsigned long long)at);
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

static void read_thread_header(struct tw_recording *r, struct thread *t, const struct file *f)
{
	struct tw_file_thread h;
	if (!header_at(f, 0, TW_THREAD_MAGIC, sizeof h)) {
		add_problem(r, f->n < sizeof h ? TW_ERR_TRUNCATED : TW_ERR_CHECKSUM, "%s: the header of the file", t->name);
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
	struct file f;
	int error = map_file(r, name, &f);
	struct thread *t = error ? NULL : list_add(&r->threads, sizeof *t);
	if (t) {
		t->info.serial = serial;
		snprintf(t->name, sizeof t->name, "%s", name);
		read_thread_header(r, t, &f);
		error = scan_thread(r, t, &f, f.n < sizeof(struct tw_file_thread) ? f.n : sizeof(struct tw_file_thread));
	} else if (!error) {
		error = tw_fail(TW_ERR_MEMORY, "%s", name);
	}
	unmap_file(&f);
	return error;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static int list_threads(const struct tw_recording *r, struct list *serials)
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
		if (tw_thread_file(e->d_name, &serial) && (item = list_add(serials, sizeof *item)))
			*item = serial;
	}
	closedir(d);
	if (serials->n)
		qsort(serials->items, serials->n, sizeof(uint32_t), by_number);
	return TW_OK;
}

static int read_threads(struct tw_recording *r)
{
	struct list serials = {0};
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

/* Of a recording that was closed it is known how many threads have a file. */
static void count_files(struct tw_recording *r)
{
	uint64_t wanted = r->info.totals.threads;
	if (r->info.complete && r->info.sink == TW_SINK_FILE && r->threads.n < wanted)
		add_problem(r, TW_ERR_MISSING, "%llu of %llu thread files", (unsigned long long)(wanted - r->threads.n),
		            (unsigned long long)wanted);
}

/* How the first process ended is in the header. */
static void end_first(struct tw_recording *r)
{
	struct tw_process *p = r->processes.process;
	if (!r->processes.n || (!r->info.complete && !r->info.duration_ns))
		return;
	p->ended = 1;
	p->wait_status = r->info.wait_status;
}

static void sum_threads(struct tw_recording *r)
{
	for (size_t i = 0; i < r->threads.n; i++) {
		const struct thread *t = thread_at(r, i);
		for (size_t k = 0; k < t->chunks.n; k++)
			add_to_totals(&r->sum, (struct tw_chunk_info *)t->chunks.items + k);
	}
	r->sum.threads = r->threads.n;
	r->sum.fragments = r->descriptors.n;
}

/* ---- opening and closing ---- */

static int open_directory(struct tw_recording *r, const char *dir)
{
	r->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return r->dir_fd < 0 ? tw_fail(TW_ERR_SYSTEM, "%s: %s", dir, strerror(errno)) : TW_OK;
}

int tw_recording_open(const char *dir, struct tw_recording **out)
{
	struct tw_recording *r = calloc(1, sizeof *r);
	*out = NULL;
	if (!r)
		return tw_fail(TW_ERR_MEMORY, "%s", dir);
	r->dir_fd = -1;
	r->values = tw_value_map_new();
	int error = r->values ? tw_header_read(dir, &r->info) : tw_fail(TW_ERR_MEMORY, "%s", dir);
	if (!error)
		error = open_directory(r, dir);
	if (!error)
		error = read_threads(r);
	if (!error)
		error = read_code(r);
	if (!error)
		error = tw_processes_build(&r->processes);
	if (error) {
		tw_recording_close(r);
		return error;
	}
	count_files(r);
	end_first(r);
	sum_threads(r);
	*out = r;
	return TW_OK;
}

void tw_recording_close(struct tw_recording *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->threads.n; i++) {
		struct thread *t = thread_at(r, i);
		free(t->chunks.items);
		free(t->checks.items);
	}
	for (size_t i = 0; i < r->problems.n; i++)
		free(((struct tw_problem *)r->problems.items)[i].text);
	for (size_t i = 0; i < r->blocks.n; i++)
		free(((void **)r->blocks.items)[i]);
	for (size_t i = 0; i < 65536; i++)
		free(r->table[i]);
	if (r->dir_fd >= 0)
		close(r->dir_fd);
	tw_processes_free(&r->processes);
	free(r->threads.items);
	free(r->modules.items);
	free(r->problems.items);
	free(r->descriptors.items);
	free(r->blocks.items);
	tw_value_map_free(r->values);
	tw_header_free(&r->info);
	free(r);
}

/* ---- asking ---- */

const struct tw_recording_info *tw_recording_info(const struct tw_recording *r)
{
	return &r->info;
}

size_t tw_recording_n_threads(const struct tw_recording *r)
{
	return r->threads.n;
}

const struct tw_thread_info *tw_recording_thread(const struct tw_recording *r, size_t thread)
{
	return thread < r->threads.n ? &thread_at(r, thread)->info : NULL;
}

size_t tw_recording_find_thread(const struct tw_recording *r, uint32_t serial)
{
	size_t low = 0, high = r->threads.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (thread_at(r, middle)->info.serial < serial)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->threads.n && thread_at(r, low)->info.serial == serial ? low : r->threads.n;
}

const struct tw_chunk_info *tw_recording_chunk_info(const struct tw_recording *r, size_t thread, size_t chunk)
{
	if (thread >= r->threads.n || chunk >= thread_at(r, thread)->chunks.n)
		return NULL;
	return (const struct tw_chunk_info *)thread_at(r, thread)->chunks.items + chunk;
}

size_t tw_recording_n_modules(const struct tw_recording *r)
{
	return r->modules.n;
}

const struct tw_module *tw_recording_module(const struct tw_recording *r, size_t module)
{
	return module < r->modules.n ? (const struct tw_module *)r->modules.items + module : NULL;
}

size_t tw_recording_n_processes(const struct tw_recording *r)
{
	return r->processes.n;
}

const struct tw_process *tw_recording_process(const struct tw_recording *r, size_t process)
{
	return process < r->processes.n ? &r->processes.process[process] : NULL;
}

size_t tw_recording_process_of(const struct tw_recording *r, size_t thread)
{
	const struct tw_thread_info *t = tw_recording_thread(r, thread);
	const struct tw_process *p = t ? tw_processes_find(&r->processes, t->pid, t->serial) : NULL;
	return p ? (size_t)(p - r->processes.process) : r->processes.n;
}

size_t tw_recording_n_problems(const struct tw_recording *r)
{
	return r->problems.n;
}

const struct tw_problem *tw_recording_problem(const struct tw_recording *r, size_t problem)
{
	return problem < r->problems.n ? (const struct tw_problem *)r->problems.items + problem : NULL;
}

const struct tw_totals *tw_recording_totals(const struct tw_recording *r)
{
	return r->info.complete || r->info.sink == TW_SINK_COUNT ? &r->info.totals : &r->sum;
}

void tw_recording_sum(const struct tw_recording *r, struct tw_totals *out)
{
	*out = r->sum;
}

const struct tw_descriptor *tw_recording_descriptor(const struct tw_recording *r, uint32_t number)
{
	const struct tw_descriptor **row = r->table[number >> 16];
	return row ? row[number & 0xffff] : NULL;
}

const struct tw_value_map *tw_recording_values(const struct tw_recording *r)
{
	return r->values;
}

size_t tw_recording_n_descriptors(const struct tw_recording *r)
{
	return r->descriptors.n;
}

const struct tw_descriptor *tw_recording_descriptor_at(const struct tw_recording *r, size_t i)
{
	return i < r->descriptors.n ? ((const struct tw_descriptor **)r->descriptors.items)[i] : NULL;
}

/* ---- chunks ---- */

/* Decompresses the three sections of a chunk, which follow each other at `stored`. */
static int unpack_sections(const struct thread *t, const struct tw_chunk_info *c, const struct checks *checks, const uint8_t *stored,
                           void **section)
{
	static const char *const names[TW_NSTREAMS] = {"C", "M", "E"};
	for (int i = 0; i < TW_NSTREAMS; i++) {
		int error = unpack(stored, c->stored[i], checks->section[i], c->coded[i], &section[i]);
		if (error)
			return tw_fail(error, "%s: stream %s of chunk %u at offset %llu", t->name, names[i], c->sequence,
			               (unsigned long long)c->offset);
		stored += c->stored[i];
	}
	return TW_OK;
}

static int read_sections(const struct tw_recording *r, const struct thread *t, const struct tw_chunk_info *c, const struct checks *checks,
                         void **section)
{
	uint64_t n = c->stored[0] + c->stored[1] + c->stored[2];
	uint8_t *stored = malloc(n + 1);
	if (!stored)
		return tw_fail(TW_ERR_MEMORY, "%s: chunk %u", t->name, c->sequence);
	int fd, error = open_file(r, t->name, &fd);
	if (!error) {
		error = tw_read_at(fd, stored, n, c->offset + sizeof(struct tw_file_chunk), t->name);
		close(fd);
	}
	if (!error)
		error = unpack_sections(t, c, checks, stored, section);
	free(stored);
	return error;
}

static void describe_chunk(const struct thread *t, const struct tw_chunk_info *c, struct tw_chunk *out)
{
	*out = (struct tw_chunk){
	    .thread = t->info.serial,
	    .sequence = c->sequence,
	    .upper = c->upper,
	    .flags = c->flags,
	    .first_insn = c->first_insn,
	    .first_block = c->first_block,
	    .first_ref = c->first_ref,
	    .insns = c->insns,
	    .blocks = c->blocks,
	    .refs = c->refs,
	    .reads = c->reads,
	    .writes = c->writes,
	    .n_c = c->raw[TW_STREAM_C] / 2,
	    .n_m = c->raw[TW_STREAM_M] / 8,
	    .n_e = c->raw[TW_STREAM_E],
	};
}

/* An error in the streams of a chunk. */
static int about_chunk(int error, const struct thread *t, const struct tw_chunk_info *c)
{
	return error ? tw_fail(error, "%s: chunk %u at offset %llu", t->name, c->sequence, (unsigned long long)c->offset) : TW_OK;
}

static int decode_tags(const uint8_t *section, size_t n, struct tw_chunk *out)
{
	out->c = malloc(out->n_c * sizeof *out->c + 8);
	return out->c ? tw_decode_tags(section, n, out->c, out->n_c) : TW_ERR_MEMORY;
}

int tw_recording_coded_chunk(const struct tw_recording *r, size_t thread, size_t chunk, struct tw_coded_chunk *out)
{
	memset(out, 0, sizeof *out);
	const struct tw_chunk_info *c = tw_recording_chunk_info(r, thread, chunk);
	if (!c)
		return tw_fail(TW_ERR_RANGE, "thread %zu, chunk %zu", thread, chunk);
	const struct thread *t = thread_at(r, thread);
	void *section[TW_NSTREAMS] = {NULL};
	int error = read_sections(r, t, c, (const struct checks *)t->checks.items + chunk, section);
	describe_chunk(t, c, &out->chunk);
	out->chunk.e = section[TW_STREAM_E];
	out->values = section[TW_STREAM_M];
	out->n_values = c->coded[TW_STREAM_M];
	if (!error)
		error = about_chunk(decode_tags(section[TW_STREAM_C], c->coded[TW_STREAM_C], &out->chunk), t, c);
	free(section[TW_STREAM_C]);
	if (error)
		tw_coded_chunk_release(out);
	return error;
}

void tw_coded_chunk_release(struct tw_coded_chunk *chunk)
{
	tw_chunk_release(&chunk->chunk);
	free(chunk->values);
	memset(chunk, 0, sizeof *chunk);
}

static int decode_values(const struct tw_recording *r, struct tw_coded_chunk *coded)
{
	struct tw_chunk *chunk = &coded->chunk;
	chunk->m = malloc(chunk->n_m * sizeof *chunk->m + 8);
	return chunk->m ? tw_decode_values(r->values, coded->values, coded->n_values, chunk) : TW_ERR_MEMORY;
}

int tw_recording_chunk(const struct tw_recording *r, size_t thread, size_t chunk, struct tw_chunk *out)
{
	struct tw_coded_chunk coded;
	int error = tw_recording_coded_chunk(r, thread, chunk, &coded);
	if (!error)
		error = about_chunk(decode_values(r, &coded), thread_at(r, thread), tw_recording_chunk_info(r, thread, chunk));
	*out = coded.chunk;
	if (error)
		tw_chunk_release(out);
	free(coded.values);
	return error;
}

void tw_chunk_release(struct tw_chunk *chunk)
{
	free(chunk->c);
	free(chunk->m);
	free(chunk->e);
	memset(chunk, 0, sizeof *chunk);
}
