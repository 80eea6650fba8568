/* Which file an address is in, and where that is mapped: /proc/self/maps. */
#include "runtime.h"
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

static uint64_t number(const char **s, uint32_t base)
{
	uint64_t v = 0;
	for (;; (*s)++) {
		const char c = **s;
		const uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0') : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10 : 99;
		if (digit >= base)
			return v;
		v = v * base + digit;
	}
}

struct mapping {
	struct tw_map map;
	uint64_t end, device, inode;
	const char *path; /* within the line */
};

/* A line of /proc/self/maps. */
static void parse(const char *s, struct mapping *m)
{
	m->map.address = number(&s, 16);
	s++;
	m->end = number(&s, 16);
	m->map.length = m->end - m->map.address;
	s++;
	m->map.prot = (s[0] == 'r' ? PROT_READ : 0) | (s[1] == 'w' ? PROT_WRITE : 0) | (s[2] == 'x' ? PROT_EXEC : 0);
	m->map.flags = s[3] == 'p' ? MAP_PRIVATE : MAP_SHARED;
	s += 5;
	m->map.offset = number(&s, 16);
	s++;
	m->device = number(&s, 16);
	s++;
	m->device = m->device << 32 | number(&s, 16);
	s++;
	m->inode = number(&s, 10);
	while (*s == ' ')
		s++;
	m->path = s;
}

struct lines {
	int fd;
	uint32_t from, to;
	char text[TW_PROGRAM_PATH + 256];
};

/* The next line without its end; NULL: there is none. */
static const char *next_line(struct lines *l)
{
	for (uint32_t end = l->from;; end++) {
		if (end == l->to) {
			const uint32_t rest = l->to - l->from;
			tw_cc_copy(l->text, l->text + l->from, rest);
			const int64_t n = SYS(__NR_read, l->fd, l->text + rest, sizeof l->text - 1 - rest);
			if (n <= 0)
				return 0;
			l->from = 0;
			end = rest;
			l->to = rest + (uint32_t)n;
		}
		if (l->text[end] == '\n') {
			const char *line = l->text + l->from;
			l->text[end] = 0;
			l->from = end + 1;
			return line;
		}
	}
}

/* Called twice: first to find the file that contains the address, then to tell all its mappings. */
static uint64_t tell(uint64_t pointer, uint64_t address, uint64_t *device, uint64_t *inode)
{
	struct lines l = {.fd = (int)SYS(__NR_open, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0)};
	struct mapping m;
	for (const char *line; l.fd >= 0 && (line = next_line(&l));) {
		parse(line, &m);
		if (address && m.map.address <= address && address < m.end) {
			*device = m.device;
			*inode = m.inode;
		} else if (!address && m.inode == *inode && m.device == *device && m.map.prot & PROT_EXEC) {
			pointer = tw_cc_event(pointer, TW_EVENT_MAP, &m.map, sizeof m.map, m.path, (uint32_t)tw_cc_length(m.path) + 1);
		}
	}
	SYS(__NR_close, l.fd);
	return pointer;
}

bool tw_cc_maps_path(uint64_t address, char *path, uint64_t room)
{
	struct lines l = {.fd = (int)SYS(__NR_open, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0)};
	struct mapping m;
	bool found = false;
	for (const char *line; !found && l.fd >= 0 && (line = next_line(&l));) {
		parse(line, &m);
		found = m.map.address <= address && address < m.end && tw_cc_length(m.path) < room;
		if (found)
			tw_cc_copy(path, m.path, tw_cc_length(m.path) + 1);
	}
	SYS(__NR_close, l.fd);
	return found;
}

uint64_t tw_cc_maps_tell(uint64_t pointer, uint64_t address)
{
	uint64_t device = 0, inode = 0;
	tell(pointer, address, &device, &inode);
	return tell(pointer, 0, &device, &inode);
}
