/* The chunk writer. Every piece is one write(2) of a header and what it describes, to a file opened for appending. */
#include "recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

enum { CODE_LEVEL = 3 };

struct section {
	const void *raw;
	size_t n_raw;
	uint8_t *stored;
	size_t room, n_stored;
};

struct tw_writer {
	char dir[PATH_MAX];
	int code_fd;
	uint32_t n_threads; /* serial numbers below this may have a file */
	uint8_t *started;   /* per serial number: has a file */
	ZSTD_CCtx *zstd;
	struct section section[TW_NSTREAMS];
	struct tw_recording_info info; /* strings belong to this */
	struct tw_totals totals;
};

/* ---- files ---- */

static int open_append(const struct tw_writer *w, const char *name, int *fd)
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof path, "%s/%s", w->dir, name);
	*fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	return *fd < 0 ? tw_fail(TW_ERR_SYSTEM, "%s: %s", path, strerror(errno)) : TW_OK;
}

static int compress_section(struct tw_writer *w, struct section *s, int level)
{
	size_t room = ZSTD_compressBound(s->n_raw);
	if (room > s->room) {
		free(s->stored);
		s->stored = malloc(room);
		s->room = s->stored ? room : 0;
		if (!s->stored)
			return tw_fail(TW_ERR_MEMORY, "%zu bytes", room);
	}
	if (!s->n_raw) {
		s->n_stored = 0;
		return TW_OK;
	}
	s->n_stored = ZSTD_compressCCtx(w->zstd, s->stored, s->room, s->raw, s->n_raw, level);
	if (ZSTD_isError(s->n_stored))
		return tw_fail(TW_ERR_MEMORY, "zstd: %s", ZSTD_getErrorName(s->n_stored));
	return TW_OK;
}

/* Appends whole or not at all: what a failure left is cut off again. */
static int append(int fd, struct iovec *iov, int n, const char *name)
{
	struct stat st;
	int known = !fstat(fd, &st);
	int error = tw_write_all(fd, iov, n, name);
	if (error && known && ftruncate(fd, st.st_size))
		return error; /* readers find the torn end by its checksums */
	return error;
}

/* ---- opening and closing ---- */

static char *copy_text(const char *s)
{
	return strdup(s ? s : "");
}

static int copy_argv(struct tw_recording_info *to, const struct tw_recording_info *from)
{
	to->argc = 0;
	to->argv = calloc((size_t)from->argc + 1, sizeof *to->argv);
	if (!to->argv)
		return TW_ERR_MEMORY;
	for (; to->argc < from->argc; to->argc++) {
		to->argv[to->argc] = copy_text(from->argv[to->argc]);
		if (!to->argv[to->argc])
			return TW_ERR_MEMORY;
	}
	return TW_OK;
}

static int copy_info(struct tw_recording_info *to, const struct tw_recording_info *from)
{
	*to = *from;
	to->complete = 0;
	to->program = copy_text(from->program);
	to->cwd = copy_text(from->cwd);
	to->host = copy_text(from->host);
	to->cpu = copy_text(from->cpu);
	to->kernel = copy_text(from->kernel);
	to->failure = copy_text(from->failure);
	if (copy_argv(to, from) || !to->program || !to->cwd || !to->host || !to->cpu || !to->kernel || !to->failure)
		return tw_fail(TW_ERR_MEMORY, "header");
	return TW_OK;
}

static void free_writer(struct tw_writer *w)
{
	for (int i = 0; i < TW_NSTREAMS; i++)
		free(w->section[i].stored);
	if (w->code_fd >= 0)
		close(w->code_fd);
	ZSTD_freeCCtx(w->zstd);
	tw_header_free(&w->info);
	free(w->started);
	free(w);
}

int tw_writer_create(const char *dir, const struct tw_recording_info *info, struct tw_writer **out)
{
	struct tw_writer *w = calloc(1, sizeof *w);
	if (!w)
		return tw_fail(TW_ERR_MEMORY, "writer");
	w->code_fd = -1;
	snprintf(w->dir, sizeof w->dir, "%s", dir);
	w->zstd = ZSTD_createCCtx();
	int error = w->zstd ? copy_info(&w->info, info) : tw_fail(TW_ERR_MEMORY, "zstd");
	if (!error)
		error = tw_header_write(dir, &w->info);
	if (!error)
		error = tw_header_reserve(dir);
	if (!error)
		error = open_append(w, TW_CODE_FILE, &w->code_fd);
	if (error) {
		free_writer(w);
		return error;
	}
	*out = w;
	return TW_OK;
}

int tw_writer_close(struct tw_writer *w, const struct tw_recording_info *end)
{
	struct tw_recording_info *info = &w->info;
	free(info->failure);
	info->failure = copy_text(end->failure);
	info->complete = end->complete;
	info->totals = end->totals;
	info->wait_status = end->wait_status;
	info->duration_ns = end->duration_ns;
	int error = info->failure ? tw_header_write(w->dir, info) : tw_fail(TW_ERR_MEMORY, "header");
	free_writer(w);
	return error;
}

const struct tw_totals *tw_writer_totals(const struct tw_writer *w)
{
	return &w->totals;
}

/* ---- the code file ---- */

static int write_block(struct tw_writer *w, uint32_t kind, const void *raw, size_t n)
{
	struct section *s = &w->section[0];
	s->raw = raw;
	s->n_raw = n;
	int error = compress_section(w, s, CODE_LEVEL);
	if (error)
		return error;
	struct tw_file_block head = {
	    .magic = TW_BLOCK_MAGIC,
	    .version = TW_RECORDING_VERSION,
	    .kind = kind,
	    .raw = n,
	    .stored = s->n_stored,
	    .section_check = XXH64(s->stored, s->n_stored, 0),
	};
	head.check = XXH64(&head, offsetof(struct tw_file_block, check), 0);
	struct iovec iov[2] = {{&head, sizeof head}, {s->stored, s->n_stored}};
	w->totals.code_raw += n;
	w->totals.code_stored += sizeof head + s->n_stored;
	return append(w->code_fd, iov, 2, TW_CODE_FILE);
}

int tw_writer_descriptors(struct tw_writer *w, const void *bytes, size_t n)
{
	return n ? write_block(w, TW_BLOCK_DESCRIPTORS, bytes, n) : TW_OK;
}

int tw_writer_module(struct tw_writer *w, const struct tw_module *module)
{
	size_t path_bytes = (strlen(module->path) + 8) & ~(size_t)7;
	size_t n = sizeof(struct tw_file_module) + path_bytes;
	struct tw_file_module *m = calloc(1, n);
	if (!m)
		return tw_fail(TW_ERR_MEMORY, "module");
	*m = (struct tw_file_module){
	    .address = module->address,
	    .length = module->length,
	    .offset = module->offset,
	    .pid = module->pid,
	    .prot = module->prot,
	    .thread = module->thread,
	    .sequence = module->sequence,
	    .path_bytes = (uint32_t)path_bytes,
	};
	strcpy((char *)(m + 1), module->path);
	int error = write_block(w, TW_BLOCK_MODULES, m, n);
	free(m);
	return error;
}

/* ---- thread files ---- */

static int mark_started(struct tw_writer *w, uint32_t serial)
{
	if (serial >= w->n_threads) {
		uint32_t n = serial * 2 + 64;
		uint8_t *started = realloc(w->started, n);
		if (!started)
			return tw_fail(TW_ERR_MEMORY, "thread %u", serial);
		memset(started + w->n_threads, 0, n - w->n_threads);
		w->started = started;
		w->n_threads = n;
	}
	w->started[serial] = 1;
	return TW_OK;
}

/* Opens the file of a thread, with its header written. */
static int open_thread(struct tw_writer *w, const struct tw_thread_info *t, int *fd)
{
	char name[32];
	snprintf(name, sizeof name, TW_THREAD_FILE, t->serial);
	int error = open_append(w, name, fd);
	if (error || (t->serial < w->n_threads && w->started[t->serial]))
		return error;
	struct tw_file_thread head = {
	    .magic = TW_THREAD_MAGIC,
	    .version = TW_RECORDING_VERSION,
	    .serial = t->serial,
	    .pid = t->pid,
	    .tid = t->tid,
	    .parent_pid = t->parent_pid,
	    .parent_tid = t->parent_tid,
	};
	head.check = XXH64(&head, offsetof(struct tw_file_thread, check), 0);
	struct iovec iov = {&head, sizeof head};
	error = append(*fd, &iov, 1, name);
	if (!error)
		error = mark_started(w, t->serial);
	if (error)
		close(*fd);
	w->totals.threads++;
	return error;
}

static void fill_head(struct tw_file_chunk *head, const struct tw_chunk *c, uint64_t gaps)
{
	*head = (struct tw_file_chunk){
	    .magic = TW_CHUNK_MAGIC,
	    .version = TW_RECORDING_VERSION,
	    .thread = c->thread,
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
	    .gaps = gaps,
	};
}

static int compress_chunk(struct tw_writer *w, const struct tw_chunk *c, struct tw_file_chunk *head, int level)
{
	const void *raw[TW_NSTREAMS] = {c->c, c->m, c->e};
	size_t n[TW_NSTREAMS] = {c->n_c * sizeof *c->c, c->n_m * sizeof *c->m, c->n_e};
	for (int i = 0; i < TW_NSTREAMS; i++) {
		struct section *s = &w->section[i];
		s->raw = raw[i];
		s->n_raw = n[i];
		int error = compress_section(w, s, level);
		if (error)
			return error;
		head->raw[i] = n[i];
		head->stored[i] = s->n_stored;
		head->section_check[i] = XXH64(s->stored, s->n_stored, 0);
	}
	head->check = XXH64(head, offsetof(struct tw_file_chunk, check), 0);
	return TW_OK;
}

static void add_totals(struct tw_totals *t, const struct tw_file_chunk *head)
{
	t->insns += head->insns;
	t->blocks += head->blocks;
	t->refs += head->refs;
	t->reads += head->reads;
	t->writes += head->writes;
	t->gaps += head->gaps + (head->flags & TW_CHUNK_TORN);
	t->chunks++;
	for (int i = 0; i < TW_NSTREAMS; i++) {
		t->raw[i] += head->raw[i];
		t->stored[i] += head->stored[i];
	}
}

int tw_writer_chunk(struct tw_writer *w, const struct tw_thread_info *thread, const struct tw_chunk *chunk, uint64_t gaps, int level)
{
	struct tw_file_chunk head;
	fill_head(&head, chunk, gaps);
	int error = compress_chunk(w, chunk, &head, level);
	if (error)
		return error;
	int fd;
	error = open_thread(w, thread, &fd);
	if (error)
		return error;
	struct iovec iov[1 + TW_NSTREAMS] = {{&head, sizeof head}};
	for (int i = 0; i < TW_NSTREAMS; i++)
		iov[1 + i] = (struct iovec){w->section[i].stored, w->section[i].n_stored};
	char name[32];
	snprintf(name, sizeof name, TW_THREAD_FILE, thread->serial);
	error = append(fd, iov, 1 + TW_NSTREAMS, name);
	close(fd);
	if (error)
		return error;
	add_totals(&w->totals, &head);
	return TW_OK;
}
