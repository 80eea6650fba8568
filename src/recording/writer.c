/* The chunk writer. Every piece is one write(2) of a header and what it describes, to a file opened for appending. */
#include "base/array.h"
#include "recording/encode_code.h"
#include "recording/encoder.h"
#include "recording/reader_state.h"
#include "recording/recording.h"
#include "recording/transform.h"
#include "recording/written.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

enum { CODE_LEVEL = 1 }; /* 3 takes 3 to 7 % fewer bytes, and of a short program's whole recording 6 to 15 % more processor time */

struct tw_writer {
	int dir_fd; /* not a path: another recorder may rename the directory and make one of this name */
	int code_fd;
	size_t n_threads; /* serial numbers below this may have a file */
	uint8_t *started; /* per serial number: has a file */
	ZSTD_CCtx *zstd;
	struct tw_bytes block; /* of the code file, compressed */
	struct tw_value_map *values;
	struct tw_encoder_code *code;  /* of all packers; NULL: none can be made */
	struct tw_packer *packer;      /* for tw_writer_chunk; made when first used */
	struct tw_recording_info info; /* strings belong to this */
	struct tw_totals totals;
	struct tw_written written;
};

/* ---- files ---- */

static int open_directory(struct tw_writer *w, const char *dir)
{
	w->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->dir_fd < 0)
		return tw_fail(TW_ERR_SYSTEM, "the directory: %s", strerror(errno));
	flock(w->dir_fd, LOCK_EX); /* readers detect the lock; without lock support that is not known */
	return TW_OK;
}

/* If all descriptors are in use, another thread may have opened one briefly (/proc, a file that is named): waits for that. */
static int open_append(const struct tw_writer *w, const char *name, int *fd)
{
	enum { TRIES = 2000 }; /* two seconds: that thread may have to wait for a processor */
	const struct timespec moment = {.tv_nsec = 1000000};
	for (int i = 0; i < TRIES; i++) {
		*fd = openat(w->dir_fd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		if (*fd >= 0 || errno != EMFILE)
			break;
		nanosleep(&moment, NULL);
	}
	return *fd < 0 ? tw_fail(TW_ERR_SYSTEM, "%s: %s", name, strerror(errno)) : TW_OK;
}

/* Appends completely or not at all: what a failure left is truncated. */
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

static void free_writer(struct tw_writer *w)
{
	tw_written_end(&w->written);
	free(w->block.at);
	tw_packer_free(w->packer);
	tw_value_map_free(w->values);
	tw_encoder_code_free(w->code);
	if (w->code_fd >= 0)
		close(w->code_fd);
	if (w->dir_fd >= 0)
		close(w->dir_fd);
	ZSTD_freeCCtx(w->zstd);
	tw_header_free(&w->info);
	free(w->started);
	free(w);
}

/* A writer without its files. */
static int new_writer(const struct tw_recording_info *info, struct tw_writer **out)
{
	struct tw_writer *w = calloc(1, sizeof *w);
	*out = NULL;
	if (!w)
		return tw_fail(TW_ERR_MEMORY, "writer");
	w->code_fd = -1;
	w->dir_fd = -1;
	w->zstd = ZSTD_createCCtx();
	w->values = tw_value_map_new(TW_ENCODER_SLOTS);
	w->code = info->format == TW_FORMAT_NONE ? NULL : tw_encoder_code_new(tw_encoder_value);
	int error = w->zstd && w->values ? tw_info_copy(&w->info, info) : tw_fail(TW_ERR_MEMORY, "writer");
	if (error)
		free_writer(w);
	else
		*out = w;
	return error;
}

int tw_writer_create(const char *dir, const struct tw_recording_info *info, struct tw_writer **out)
{
	struct tw_writer *w;
	int error = new_writer(info, &w);
	if (error)
		return error;
	error = open_directory(w, dir);
	if (!error)
		error = tw_header_write(w->dir_fd, &w->info);
	if (!error)
		error = tw_header_reserve(w->dir_fd);
	if (!error && info->format != TW_FORMAT_NONE) /* each file takes time; if nothing is recorded it would stay empty */
		error = open_append(w, TW_CODE_FILE, &w->code_fd);
	if (error) {
		free_writer(w);
		return error;
	}
	tw_written_begin(&w->written, &w->info, w->dir_fd);
	*out = w;
	return TW_OK;
}

int tw_writer_close(struct tw_writer *w, const struct tw_recording_info *end)
{
	struct tw_recording_info *info = &w->info;
	free(info->failure);
	info->failure = strdup(end->failure ? end->failure : "");
	info->complete = end->complete;
	info->windows = end->windows;
	info->dropped = end->dropped;
	info->totals = end->totals;
	memcpy(info->engine, end->engine, sizeof info->engine);
	info->wait_status = end->wait_status;
	info->duration_ns = end->duration_ns;
	info->tsc_hz = end->tsc_hz ? end->tsc_hz : info->tsc_hz; /* who ends it for another does not know */
	int error = info->failure ? tw_header_write(w->dir_fd, info) : tw_fail(TW_ERR_MEMORY, "header");
	free_writer(w);
	return error;
}

const struct tw_totals *tw_writer_totals(const struct tw_writer *w)
{
	return &w->totals;
}

int tw_writer_directory(const struct tw_writer *w)
{
	return w->dir_fd;
}

const struct tw_recording *tw_writer_written(struct tw_writer *w)
{
	return tw_written_recording(&w->written);
}

/* ---- the code file ---- */

struct tw_file_block tw_block_head(uint32_t kind, size_t raw, const void *stored, size_t n)
{
	struct tw_file_block head = {
	    .magic = TW_BLOCK_MAGIC,
	    .version = TW_RECORDING_VERSION,
	    .kind = kind,
	    .raw = raw,
	    .stored = n,
	    .section_check = XXH64(stored, n, 0),
	};
	head.check = XXH64(&head, offsetof(struct tw_file_block, check), 0);
	return head;
}

static int write_block(struct tw_writer *w, uint32_t kind, const void *raw, size_t n, int stays)
{
	int error = tw_compress(w->zstd, &w->block, raw, n, CODE_LEVEL);
	if (!error && w->code_fd < 0)
		error = open_append(w, TW_CODE_FILE, &w->code_fd);
	if (error)
		return error;
	struct tw_file_block head = tw_block_head(kind, n, w->block.at, w->block.n);
	struct iovec iov[2] = {{&head, sizeof head}, {w->block.at, w->block.n}};
	w->totals.code_raw += n;
	w->totals.code_stored += sizeof head + w->block.n;
	tw_written_block(&w->written, kind, raw, n, stays);
	error = append(w->code_fd, iov, 2, TW_CODE_FILE);
	if (error)
		tw_written_end(&w->written);
	return error;
}

int tw_writer_block(struct tw_writer *w, uint32_t kind, const void *raw, size_t n)
{
	return write_block(w, kind, raw, n, 0);
}

struct tw_value_map *tw_writer_values(struct tw_writer *w)
{
	return w->values;
}

void tw_writer_forget(struct tw_writer *w, uint32_t first)
{
	tw_value_map_forget(w->values, first);
	if (w->code)
		tw_encoder_code_forget(w->code, first);
}

void tw_writer_forget_one(struct tw_writer *w, uint32_t number)
{
	tw_value_map_forget_one(w->values, number);
	if (w->code)
		tw_encoder_code_forget_one(w->code, number);
}

struct tw_packer *tw_writer_packer(struct tw_writer *w)
{
	return tw_packer_new(w->values, w->code);
}

struct tw_encoder *tw_writer_encoder(struct tw_writer *w)
{
	return tw_encoder_new(w->values, w->code);
}

int tw_writer_descriptors(struct tw_writer *w, const void *bytes, size_t n)
{
	int error = tw_value_map_add_all(w->values, NULL, bytes, n);
	return error || !n ? error : tw_writer_block(w, TW_BLOCK_DESCRIPTORS, bytes, n);
}

int tw_writer_described(struct tw_writer *w, const void *bytes, size_t n, int stay)
{
	return write_block(w, TW_BLOCK_DESCRIPTORS, bytes, n, stay);
}

void *tw_module_bytes(const struct tw_module *module, size_t *n)
{
	size_t path_bytes = (strlen(module->path) + 8) & ~(size_t)7;
	*n = sizeof(struct tw_file_module) + path_bytes;
	struct tw_file_module *m = calloc(1, *n);
	if (!m)
		return NULL;
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
	return m;
}

void *tw_note_bytes(const struct tw_file_note *note, const char *text, size_t *n)
{
	size_t text_bytes = (note->text_bytes + 7u) & ~(size_t)7;
	*n = sizeof *note + text_bytes;
	struct tw_file_note *bytes = calloc(1, *n);
	if (!bytes)
		return NULL;
	*bytes = *note;
	bytes->text_bytes = (uint32_t)text_bytes;
	if (note->text_bytes)
		memcpy(bytes + 1, text, note->text_bytes);
	return bytes;
}

/* ---- going on with one ---- */

static int cut(const struct tw_writer *w, const char *name, uint64_t at)
{
	const int fd = openat(w->dir_fd, name, O_WRONLY | O_CLOEXEC);
	struct stat st;
	const int failed = fd < 0 || fstat(fd, &st) || ((uint64_t)st.st_size > at && ftruncate(fd, (off_t)at)), why = errno;
	if (fd >= 0)
		close(fd);
	return failed ? tw_fail(TW_ERR_SYSTEM, "%s: %s", name, strerror(why)) : TW_OK;
}

/* Behind the last block of the code file that is whole. */
static int cut_code(const struct tw_writer *w, const struct tw_recording *r)
{
	struct tw_reader_file f;
	struct tw_file_block head;
	uint64_t at = 0, end = 0;
	int error = tw_reader_map(r, TW_CODE_FILE, &f);
	while (!error && (at = tw_reader_next_header(&f, at, TW_BLOCK_MAGIC, sizeof head)) < f.n) {
		memcpy(&head, f.bytes + at, sizeof head);
		at += sizeof head;
		if (head.stored > f.n - at)
			break;
		at += head.stored;
		end = at;
	}
	tw_reader_unmap(&f);
	return error ? error : cut(w, TW_CODE_FILE, end);
}

static int mark_started(struct tw_writer *w, uint32_t serial);

/* After its last whole chunk. A file without a chunk is restarted. */
static int cut_thread(struct tw_writer *w, const struct tw_recording *r, size_t i)
{
	const struct tw_reader_thread *t = tw_reader_thread(r, i);
	const struct tw_chunk_info *c = t->chunks.n ? (const struct tw_chunk_info *)t->chunks.items + t->chunks.n - 1 : NULL;
	int error = cut(w, t->name, c ? c->offset + sizeof(struct tw_file_chunk) + c->stored[0] + c->stored[1] + c->stored[2] : 0);
	return error || !c ? error : mark_started(w, t->info.serial);
}

int tw_writer_append(int dir_fd, const struct tw_recording *r, struct tw_writer **out)
{
	struct tw_writer *w;
	*out = NULL;
	int error = new_writer(tw_recording_info(r), &w);
	if (error)
		return error;
	w->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	error = w->dir_fd < 0 ? tw_fail(TW_ERR_SYSTEM, "the directory: %s", strerror(errno)) : cut_code(w, r);
	for (size_t i = 0; !error && i < tw_recording_n_threads(r); i++)
		error = cut_thread(w, r, i);
	for (size_t i = 0; !error && i < tw_recording_n_descriptors(r); i++)
		error = tw_value_map_add(w->values, NULL, tw_recording_descriptor_at(r, i));
	if (!error)
		error = open_append(w, TW_CODE_FILE, &w->code_fd);
	if (error)
		free_writer(w);
	else
		*out = w;
	return error;
}

/* ---- thread files ---- */

static int mark_started(struct tw_writer *w, uint32_t serial)
{
	uint8_t *started = tw_array_zeros(w->started, serial, &w->n_threads, 1);
	if (!started)
		return tw_fail(TW_ERR_MEMORY, "thread %u", serial);
	w->started = started;
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
	else
		tw_written_thread(&w->written, t);
	w->totals.threads++;
	return error;
}

void tw_totals_end(struct tw_totals *t, int first, uint32_t flags)
{
	t->cut += first;
	t->cut -= !tw_chunk_is_cut(flags);
	t->gaps += (flags & (TW_CHUNK_TORN | TW_CHUNK_LAST)) == TW_CHUNK_TORN;
}

static void add_totals(struct tw_totals *t, const struct tw_file_chunk *head)
{
	t->insns += head->insns;
	t->blocks += head->blocks;
	t->refs += head->refs;
	t->reads += head->reads;
	t->writes += head->writes;
	t->gaps += head->gaps;
	tw_totals_end(t, !head->sequence, head->flags);
	t->stamps += head->stamps;
	t->chunks++;
	for (int i = 0; i < TW_NSTREAMS; i++) {
		t->raw[i] += head->raw[i];
		t->coded[i] += head->coded[i];
		t->stored[i] += head->stored[i];
	}
}

int tw_writer_packed(struct tw_writer *w, const struct tw_packed *packed)
{
	const struct tw_file_chunk *head = &packed->head;
	int fd;
	int error = open_thread(w, &packed->thread, &fd);
	if (error)
		return error;
	struct iovec iov[1 + TW_PACKED_PIECES] = {{(void *)head, sizeof *head}};
	memcpy(iov + 1, packed->piece, (size_t)packed->n_pieces * sizeof *iov);
	char name[32];
	snprintf(name, sizeof name, TW_THREAD_FILE, packed->thread.serial);
	error = append(fd, iov, 1 + packed->n_pieces, name);
	close(fd);
	if (error)
		return error;
	add_totals(&w->totals, head);
	return TW_OK;
}

int tw_writer_chunk(struct tw_writer *w, const struct tw_thread_info *thread, const struct tw_chunk *chunk, uint64_t gaps, int level)
{
	if (!w->packer)
		w->packer = tw_writer_packer(w);
	if (!w->packer)
		return tw_fail(TW_ERR_MEMORY, "packer");
	tw_packer_begin(w->packer, chunk->thread);
	int error = tw_packer_add(w->packer, thread, chunk, &(struct tw_event_sums){.gaps = gaps});
	if (!error)
		error = tw_packer_end(w->packer, level);
	return error ? error : tw_writer_packed(w, tw_packer_packed(w->packer));
}
