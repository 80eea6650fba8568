/* Files of a recording, and the headers and sections in them. */
#include "base/array.h"
#include "recording/reader_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

void *tw_reader_add(struct tw_reader_list *l, size_t size)
{
	void *items = tw_array_room(l->items, l->n, &l->room, size);
	if (!items)
		return NULL;
	l->items = items;
	void *item = (char *)l->items + l->n++ * size;
	memset(item, 0, size);
	return item;
}

void tw_reader_problem(struct tw_recording *r, int error, const char *format, ...)
{
	struct tw_problem *p = tw_reader_add(&r->problems, sizeof *p);
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

int tw_reader_open_file(const struct tw_recording *r, const char *name, int *fd)
{
	*fd = openat(r->dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a named pipe may stand there */
	return *fd < 0 ? tw_fail(errno == ENOENT ? TW_ERR_NOT_FOUND : TW_ERR_SYSTEM, "%s: %s", name, strerror(errno)) : TW_OK;
}

int tw_reader_map(const struct tw_recording *r, const char *name, struct tw_reader_file *f)
{
	struct stat st;
	int fd;
	memset(f, 0, sizeof *f);
	int error = tw_reader_open_file(r, name, &fd);
	if (error)
		return error;
	if (fstat(fd, &st))
		error = tw_fail(TW_ERR_SYSTEM, "%s: %s", name, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		error = tw_fail(TW_ERR_NOT_RECORDING, "%s is not a file", name);
	else if (st.st_size)
		f->bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (f->bytes == MAP_FAILED)
		error = tw_fail(TW_ERR_SYSTEM, "%s: %s", name, strerror(errno));
	f->n = error ? 0 : (uint64_t)st.st_size;
	close(fd);
	return error;
}

void tw_reader_unmap(struct tw_reader_file *f)
{
	if (f->n)
		munmap((void *)f->bytes, f->n);
}

int tw_reader_header_at(const struct tw_reader_file *f, uint64_t at, uint64_t magic, size_t size)
{
	uint64_t found, check;
	if (at > f->n || f->n - at < size)
		return 0;
	memcpy(&found, f->bytes + at, 8);
	memcpy(&check, f->bytes + at + size - 8, 8);
	return found == magic && check == XXH64(f->bytes + at, size - 8, 0);
}

uint64_t tw_reader_next_header(const struct tw_reader_file *f, uint64_t at, uint64_t magic, size_t size)
{
	while (at < f->n) {
		const uint8_t *p = memmem(f->bytes + at, f->n - at, &magic, sizeof magic);
		if (!p)
			break;
		at = (uint64_t)(p - f->bytes);
		if (tw_reader_header_at(f, at, magic, size))
			return at;
		at++;
	}
	return f->n;
}

/* Memory for chunks is allocated in pages of this size: page faults were a tenth of the time of replay. Untouched parts cost nothing. */
enum { HUGE = 1 << 21 };

int tw_reader_room(struct tw_bytes *to, uint64_t n, uint64_t most)
{
	if (to->room >= n && to->at)
		return TW_OK;
	free(to->at);
	size_t room = n < HUGE || n > most ? n : most;
	*to = (struct tw_bytes){.at = n < HUGE ? malloc(n) : tw_array_huge(&room)};
	to->room = to->at ? room : 0;
	return to->at ? TW_OK : TW_ERR_MEMORY;
}

int tw_reader_unpack(ZSTD_DCtx *zstd, const uint8_t *stored, uint64_t n, uint64_t check, uint64_t n_raw, struct tw_bytes *to)
{
	to->n = 0;
	if (XXH64(stored, n, 0) != check)
		return TW_ERR_CHECKSUM;
	if (n_raw > UINT64_MAX - 8 || tw_reader_room(to, n_raw + 8, 0))
		return TW_ERR_MEMORY;
	if (!n_raw && !n)
		return TW_OK;
	size_t got = ZSTD_decompressDCtx(zstd, to->at, n_raw, stored, n);
	if (ZSTD_isError(got) || got != n_raw)
		return TW_ERR_DAMAGED;
	to->n = n_raw;
	return TW_OK;
}
