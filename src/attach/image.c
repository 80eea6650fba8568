#include "attach/image.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_SEGMENTS = 16, PAGE = 4096 };

struct image {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[MAX_SEGMENTS];
};

static int fail(struct tw_tracee *t, const char *what, const char *path, int64_t error)
{
	snprintf(t->why, sizeof t->why, "process %d cannot %s %s: %s", (int)t->pid, what, path,
	         error < 0 ? strerror((int)-error) : "it is damaged");
	return -1;
}

static int read_headers(struct tw_tracee *t, const char *path, struct image *f)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	int whole = fd >= 0 && pread(fd, &f->eh, sizeof f->eh, 0) == sizeof f->eh && f->eh.e_phnum <= MAX_SEGMENTS;
	const size_t bytes = whole ? f->eh.e_phnum * sizeof *f->ph : 0;
	whole = whole && pread(fd, f->ph, bytes, (off_t)f->eh.e_phoff) == (ssize_t)bytes;
	if (fd >= 0)
		close(fd);
	return whole ? 0 : fail(t, "be given the engine", path, 0);
}

/* Up to a whole number of pages. */
static uint64_t up(uint64_t n)
{
	return (n + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* MAP_FIXED_NOREPLACE: nothing of the process's own is there. */
static int map(struct tw_tracee *t, const char *path, uint64_t at, uint64_t bytes, int prot, int fd, uint64_t offset)
{
	const uint64_t flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE | (fd < 0 ? MAP_ANONYMOUS : 0);
	const struct tw_tracee_call call = {SYS_mmap, {at, bytes, (uint64_t)prot, flags, (uint64_t)fd, offset}};
	int64_t r;
	if (tw_tracee_call(t, 0, &call, &r))
		return -1;
	return r == (int64_t)at ? 0 : fail(t, "map", path, r < 0 ? r : -17 /* EEXIST */);
}

static int map_segment(struct tw_tracee *t, const char *path, const Elf64_Phdr *p, int fd)
{
	static const char zeros[PAGE];
	const int prot = (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) | (p->p_flags & PF_X ? PROT_EXEC : 0);
	const uint64_t end = p->p_vaddr + p->p_filesz, pages = up(end), memory = up(p->p_vaddr + p->p_memsz);
	if (p->p_filesz && map(t, path, p->p_vaddr, pages - p->p_vaddr, prot, fd, p->p_offset))
		return -1;
	if (p->p_memsz > p->p_filesz && pages > end && tw_tracee_write(t, end, zeros, pages - end))
		return -1;
	return memory > pages ? map(t, path, pages, memory - pages, prot, -1, 0) : 0;
}

int tw_image_map(struct tw_tracee *t, const char *path, uint64_t path_at, uint64_t *entry)
{
	struct image f;
	const struct tw_tracee_call open_it = {SYS_open, {path_at, O_RDONLY | O_CLOEXEC}};
	int64_t fd, unused;
	int error = read_headers(t, path, &f);
	if (error || tw_tracee_call(t, 0, &open_it, &fd))
		return -1;
	if (fd < 0)
		return fail(t, "open", path, fd);
	for (int i = 0; !error && i < f.eh.e_phnum; i++)
		if (f.ph[i].p_type == PT_LOAD)
			error = map_segment(t, path, &f.ph[i], (int)fd);
	const struct tw_tracee_call close_it = {SYS_close, {(uint64_t)fd}};
	if (tw_tracee_call(t, 0, &close_it, &unused))
		return -1;
	*entry = f.eh.e_entry;
	return error;
}
