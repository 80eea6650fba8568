#include "engine/code/module.h"
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/stat.h>
#include <linux/time_types.h>

#define SETTLED_S 3 /* the resolution of file systems' times is at most two seconds */

struct tw_modules tw_modules;

bool tw_file_state(int fd, const char *path, struct tw_file *f)
{
	struct stat st;
	const i64 r = fd >= 0 ? tw_sys(__NR_fstat, fd, &st, 0) : tw_sys(__NR_stat, path, &st, 0);
	if (tw_failed(r) || !S_ISREG(st.st_mode))
		return false;
	*f = (struct tw_file){.device = st.st_dev,
	                      .inode = st.st_ino,
	                      .size = (u64)st.st_size,
	                      .modified_s = st.st_mtime,
	                      .modified_ns = st.st_mtime_nsec,
	                      .changed_s = st.st_ctime,
	                      .changed_ns = st.st_ctime_nsec};
	return true;
}

bool tw_file_identify(int fd, const char *path, struct tw_file *f)
{
	struct __kernel_timespec now;
	if (!tw_file_state(fd, path, f) || tw_failed(tw_sys(__NR_clock_gettime, 0, &now, 0)))
		return false;
	const u64 last = f->modified_s > f->changed_s ? f->modified_s : f->changed_s;
	return (i64)last + SETTLED_S < now.tv_sec;
}

bool tw_file_equal(const struct tw_file *a, const struct tw_file *b)
{
	return !memcmp(a, b, sizeof *a);
}

bool tw_module_equal(const struct tw_module *a, const struct tw_module *b)
{
	return tw_file_equal(&a->file, &b->file) && a->start == b->start && a->length == b->length && a->offset == b->offset &&
	       a->writable == b->writable;
}

static u32 find_expected(const struct tw_module *m)
{
	for (u32 k = 1; k <= tw_modules.n; k++)
		if (tw_modules.of[k].state == MODULE_EXPECTED && tw_module_equal(&tw_modules.of[k], m))
			return k;
	return 0;
}

/* May what was kept of it be found from now on? */
static bool can_come(u32 number, tw_module_watch *watch)
{
	const struct tw_module *m = &tw_modules.of[number];
	return !m->kept || watch(m->start, m->end);
}

bool tw_module_mapped(int fd, u64 start, u64 length, u64 offset, int prot, int flags, tw_module_watch *watch)
{
	struct tw_module m = {.start = start,
	                      .length = length,
	                      .offset = offset,
	                      .end = start + length,
	                      .state = MODULE_PRESENT,
	                      .writable = (prot & PROT_WRITE) != 0};
	if ((prot & ~PROT_WRITE) != (PROT_READ | PROT_EXEC) || (flags & (MAP_TYPE | MAP_ANONYMOUS)) != MAP_PRIVATE ||
	    (m.writable && !watch))
		return false;
	if (start >= BRK_PLACE || !tw_file_identify(fd, NULL, &m.file)) {
		tw_modules.missed++;
		return false;
	}
	const u32 number = find_expected(&m);
	const bool comes = number && can_come(number, watch);
	if (comes)
		__atomic_store_n(&tw_modules.of[number].state, MODULE_PRESENT, __ATOMIC_RELEASE);
	else if (tw_modules.n + 1 < TW_MODULES)
		tw_modules.of[++tw_modules.n] = m;
	else
		tw_modules.missed++;
	return comes;
}

void tw_module_touched(u64 start, u64 end)
{
	for (u32 k = 1; k <= tw_modules.n; k++) {
		struct tw_module *m = &tw_modules.of[k];
		if (m->state != MODULE_PRESENT || start >= m->end || end <= m->start)
			continue;
		if (start > m->start)
			m->end = start;
		else
			m->state = MODULE_CHANGED;
	}
}

u8 tw_module_at(u64 pc, u32 bytes)
{
	for (u32 k = tw_modules.n; k; k--) {
		const struct tw_module *m = &tw_modules.of[k];
		if (m->state == MODULE_PRESENT && pc >= m->start && pc + bytes <= m->end)
			return (u8)k;
	}
	return 0;
}
