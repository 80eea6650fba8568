#include "attach/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

static int parse(char *text, struct tw_maps_line *m)
{
	unsigned major, minor;
	char rights[5];
	int at = 0;
	if (sscanf(text, "%lx-%lx %4s %lx %x:%x %lu %n", &m->start, &m->end, rights, &m->offset, &major, &minor, &m->inode, &at) != 7 ||
	    !at)
		return -1;
	text[strcspn(text, "\n")] = 0;
	m->prot = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) | (rights[2] == 'x' ? PROT_EXEC : 0);
	m->shared = rights[3] == 's';
	m->device = makedev(major, minor);
	snprintf(m->path, sizeof m->path, "%s", text + at);
	return 0;
}

int tw_maps_each(pid_t pid, int (*each)(void *context, const struct tw_maps_line *line), void *context)
{
	char path[64];
	char *text = NULL;
	size_t room = 0;
	int result = 0;
	struct tw_maps_line m;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && !result && getline(&text, &room, f) > 0)
		result = parse(text, &m) ? -1 : each(context, &m);
	if (!f || ferror(f))
		result = -1;
	if (f)
		fclose(f);
	free(text);
	return result;
}

/* ---- a system call instruction ---- */

struct search {
	pid_t pid;
	uint64_t found;
};

static uint64_t look_in(pid_t pid, const struct tw_maps_line *m)
{
	enum { PIECE = 1 << 16 };
	static const unsigned char insn[] = {0x0f, 0x05};
	static unsigned char piece[PIECE];
	for (uint64_t at = m->start; at < m->end; at += PIECE - 1) {
		const size_t n = m->end - at < PIECE ? m->end - at : PIECE;
		const struct iovec here = {piece, n}, there = {(void *)(uintptr_t)at, n};
		const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
		const unsigned char *hit = got > 0 ? memmem(piece, (size_t)got, insn, sizeof insn) : NULL;
		if (hit)
			return at + (uint64_t)(hit - piece);
	}
	return 0;
}

static int look(void *context, const struct tw_maps_line *m)
{
	struct search *s = context;
	const int is_vdso = !strcmp(m->path, "[vdso]");
	if (!(m->prot & PROT_EXEC) || !strcmp(m->path, "[vsyscall]") || (s->found && !is_vdso))
		return 0;
	const uint64_t at = look_in(s->pid, m);
	s->found = at ? at : s->found;
	return at && is_vdso;
}

uint64_t tw_maps_find_call(pid_t pid)
{
	struct search s = {.pid = pid};
	tw_maps_each(pid, look, &s);
	return s.found;
}

char *tw_proc_read(pid_t pid, const char *name, size_t *n)
{
	char path[64], *text = NULL;
	size_t room = 0;
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	FILE *f = fopen(path, "re");
	const ssize_t got = f ? getdelim(&text, &room, EOF, f) : -1;
	if (f)
		fclose(f);
	*n = got > 0 ? (size_t)got : 0;
	return text;
}
