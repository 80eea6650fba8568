#include "names/unchanged.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Looks at so many modules in all. */
#define BUDGET 20000000u

/* The first block of a fragment: code that ran. */
struct code {
	uint64_t pc;
	const uint8_t *bytes;
	size_t n; /* 0: the descriptor has no code */
};

static struct code code_of(const struct tw_descriptor *d)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	return (struct code){b->pc, tw_descriptor_code(d), b->bytes <= d->code_bytes ? b->bytes : 0};
}

static int covers(const struct tw_module *m, const struct code *c)
{
	return c->pc >= m->address && c->pc - m->address < m->length && c->n <= m->length - (c->pc - m->address);
}

void tw_code_check_begin(struct tw_code_check *check, const char *path)
{
	struct stat st;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size >= SELFMAG) {
		uint8_t *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		check->file = at == MAP_FAILED ? NULL : at;
		check->bytes = (size_t)st.st_size;
	}
	if (fd >= 0)
		close(fd);
	if (!check->file || !memcmp(check->file, ELFMAG, SELFMAG))
		return;
	tw_code_check_end(check);
}

void tw_code_check_end(struct tw_code_check *check)
{
	if (check->file)
		munmap((void *)check->file, check->bytes);
	check->file = NULL;
}

static int holds(const struct tw_code_check *check, uint64_t offset, const struct code *c)
{
	return offset <= check->bytes && c->n <= check->bytes - offset && !memcmp(check->file + offset, c->bytes, c->n);
}

/* Comparisons wait for memory: of a file with many fragments, a sample is enough. */
static int is_passed_over(struct tw_code_check *check)
{
	enum { ALL_OF = 4096, THEN_EVERY = 16 };
	const uint64_t seen = check->seen++;
	return seen >= ALL_OF && seen % THEN_EVERY;
}

/*
 * If processes had several files at an address, at once or one after another (execve), it is unknown whose the code
 * was, unless one file has it.
 */
static void check_code(const struct tw_recording *r, const uint32_t *file_of, struct tw_code_check *check, const struct code *c)
{
	size_t n_modules = tw_recording_n_modules(r), file = 0;
	unsigned files = 0;
	for (size_t i = 0; i < n_modules; i++) {
		const struct tw_module *m = tw_recording_module(r, i);
		if (!covers(m, c))
			continue;
		if (is_passed_over(&check[file_of[i]]))
			return;
		if (check[file_of[i]].file && holds(&check[file_of[i]], c->pc - m->address + m->offset, c)) {
			check[file_of[i]].same++;
			return;
		}
		files += !files || file != file_of[i];
		file = file_of[i];
	}
	if (files == 1 && check[file].file)
		check[file].other++;
}

void tw_check_code(const struct tw_recording *r, const uint32_t *file_of, struct tw_code_check *check)
{
	size_t n = tw_recording_n_descriptors(r), step = 1 + n * tw_recording_n_modules(r) / BUDGET;
	for (size_t i = 0; i < n; i += step) {
		struct code c = code_of(tw_recording_descriptor_at(r, i));
		if (c.n)
			check_code(r, file_of, check, &c);
	}
}
