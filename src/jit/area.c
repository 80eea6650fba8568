#include "jit/area.h"
#include "channel/channel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The same memory twice, as none may be written and run at one address. */
static int map_area(struct tw_code_area *a)
{
	int fd = memfd_create("trackway-code", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	int ok = ftruncate(fd, (off_t)a->bytes) == 0;
	void *written = ok ? mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0) : MAP_FAILED;
	void *run = ok ? mmap(NULL, a->bytes, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_NORESERVE, fd, 0) : MAP_FAILED;
	close(fd);
	a->written = written == MAP_FAILED ? NULL : written;
	a->run = run == MAP_FAILED ? NULL : run;
	return a->written && a->run ? 0 : -1;
}

int tw_code_area_init(struct tw_code_area *a, size_t bytes)
{
	a->bytes = bytes;
	pthread_mutex_init(&a->lock, NULL);
	for (unsigned i = 0; i < TW_CODE_ROW; i++)
		a->row[i] = a->no_row;
	int error = map_area(a);
	if (error)
		tw_code_area_fini(a);
	return error;
}

void tw_code_area_fini(struct tw_code_area *a)
{
	for (unsigned i = 0; i < TW_CODE_ROW; i++)
		if (a->row[i] != a->no_row)
			free(a->row[i]);
	if (a->written)
		munmap(a->written, a->bytes);
	if (a->run)
		munmap(a->run, a->bytes);
	pthread_mutex_destroy(&a->lock);
}

void tw_code_area_begin(struct tw_code_area *a, const uint8_t *other, const uint8_t *upper)
{
	for (unsigned tag = 0; tag < TW_CODE_ROW; tag++)
		a->no_row[tag] = tw_code_runnable(a, tag == TW_TAG_UPPER ? upper : other);
}

/* The row of an upper half, with a place for code of its own. NULL: no memory. */
static const uint8_t **own_row(struct tw_code_area *a, uint32_t upper)
{
	if (a->row[upper] != a->no_row)
		return a->row[upper];
	const uint8_t **row = malloc(sizeof a->no_row);
	if (!row)
		return NULL;
	memcpy(row, a->no_row, sizeof a->no_row);
	__atomic_store_n(&a->row[upper], row, __ATOMIC_RELEASE);
	return row;
}

void tw_code_area_set(struct tw_code_area *a, uint32_t number, const uint8_t *code)
{
	const uint8_t **row = own_row(a, number >> 16);
	if (row)
		__atomic_store_n(&row[number & 0xffff], tw_code_runnable(a, code), __ATOMIC_RELEASE);
}
