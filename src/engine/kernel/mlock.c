#include "engine/kernel/mlock.h"
#include "engine/code/memory.h"
#include <asm/resource.h>
#include <asm/unistd.h>
#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

#define ERROR_EPERM  (-1)
#define ERROR_ENOMEM (-12)

static u64 future; /* MCL_FUTURE, possibly with MCL_ONFAULT; 0: later mappings are not locked */

/* ---- mappings ---- */

/* /proc/self/maps, line by line. */
struct maps {
	i64 fd;
	char text[1024];
	u32 at, end;
};

static char next_char(struct maps *m)
{
	if (m->at == m->end) {
		const i64 n = tw_sys(__NR_read, m->fd, m->text, sizeof m->text);
		m->at = 0;
		m->end = n > 0 ? (u32)n : 0;
	}
	return m->at < m->end ? m->text[m->at++] : 0;
}

/* A hexadecimal number and the character behind it. */
static u64 next_number(struct maps *m, char *end)
{
	u64 n = 0;
	for (;;) {
		const char c = *end = next_char(m);
		if (c >= '0' && c <= '9')
			n = n << 4 | (u64)(c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (u64)(c - 'a' + 10);
		else
			return n;
	}
}

/* The next mapping of the program's. False: there are no more. */
static bool next_mapping(struct maps *m, u64 *start, u64 *length)
{
	char c;
	do {
		*start = next_number(m, &c);
		*length = next_number(m, &c) - *start;
		while (c && c != '\n')
			c = next_char(m);
	} while (c && tw_memory_is_engine(*start, *length));
	return c && (i64)*start >= 0; /* last comes what is the kernel's */
}

/* Calls fn for each of the program's mappings; returns the sum of the results. */
static u64 for_each(u64 (*fn)(u64 start, u64 length, u64 how), u64 how)
{
	struct maps m = {.fd = tw_sys(__NR_open, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0)};
	u64 start, length, sum = 0;
	while (!tw_failed(m.fd) && next_mapping(&m, &start, &length))
		sum += fn(start, length, how);
	if (!tw_failed(m.fd))
		tw_sys(__NR_close, m.fd, 0, 0);
	return sum;
}

static u64 size_of(u64 start, u64 length, u64 how)
{
	(void)start, (void)how;
	return length;
}

/* Pages that cannot be had are no error to mlockall. */
static u64 lock_one(u64 start, u64 length, u64 how)
{
	tw_sys(__NR_mlock2, start, length, how);
	return 0;
}

/* ---- limits ---- */

static bool is_capable(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	return !tw_sys(__NR_capget, &header, data, 0) && (data[0].effective >> CAP_IPC_LOCK & 1);
}

static bool is_within_limit(u64 bytes)
{
	u64 limit[2] = {0};
	tw_sys4(__NR_prlimit64, 0, RLIMIT_MEMLOCK, NULL, limit);
	return bytes <= limit[0] || is_capable();
}

static u64 how_of(u64 flags)
{
	return flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0;
}

/* ---- the calls ---- */

i64 tw_mlock_all(u64 flags)
{
	if (!(flags & (MCL_CURRENT | MCL_FUTURE)) || (flags & ~(u64)(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)))
		return TW_MLOCK_PASS;
	const i64 r = tw_sys(__NR_mlock, 0, 0, 0); /* may it lock anything? */
	if (r)
		return r;
	if ((flags & MCL_CURRENT) && !is_within_limit(for_each(size_of, 0)))
		return ERROR_ENOMEM;
	future = flags & MCL_FUTURE ? flags & (MCL_FUTURE | MCL_ONFAULT) : 0;
	if (flags & MCL_CURRENT)
		for_each(lock_one, how_of(flags));
	return 0;
}

void tw_munlock_all(void)
{
	future = 0;
}

bool tw_mlock_mapped(u64 start, u64 length)
{
	if (!future)
		return true;
	/* first without populating, which may fail for some pages */
	const i64 r = tw_sys(__NR_mlock2, start, length, MLOCK_ONFAULT);
	if (!r && !(future & MCL_ONFAULT))
		tw_sys(__NR_mlock2, start, length, 0);
	return r != ERROR_ENOMEM && r != ERROR_EPERM && r != -11;
}

void tw_mlock_found(u64 later)
{
	future = later;
}

void tw_mlock_give_back(void)
{
	if (future)
		tw_sys(__NR_mlockall, future, 0, 0);
}

void tw_mlock_forget(void)
{
	future = 0;
}
