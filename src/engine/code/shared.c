#include "engine/code/shared.h"
#include "engine/code/stale.h"
#include "engine/lib.h"
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/mman.h>

/* Memory that is no file that can be opened is identified by nonexistent devices. */
#define ANONYMOUS (~0ull)
#define SEGMENT   (~1ull)

struct view {
	u64 start, end, offset; /* offset: of `start` in the file */
	u64 device, inode;
	int prot;
};

static struct view views[TW_VIEWS]; /* in no order */
static u32 n_views;
static u32 n_code; /* of these, how many may be executed */
static u64 n_anonymous;

static void add(const struct view *v)
{
	if (v->start >= v->end || n_views == TW_VIEWS)
		return;
	views[n_views++] = *v;
	n_code += (v->prot & PROT_EXEC) != 0;
}

static void drop(u32 k)
{
	n_code -= (views[k].prot & PROT_EXEC) != 0;
	views[k] = views[--n_views];
}

static bool overlaps(const struct view *v, u64 start, u64 end)
{
	return v->start < end && start < v->end;
}

static struct view part(const struct view *v, u64 start, u64 end)
{
	struct view p = *v;
	p.start = start > v->start ? start : v->start;
	p.end = end < v->end ? end : v->end;
	p.offset += p.start - v->start;
	return p;
}

bool tw_shared_any(u64 start, u64 end)
{
	for (u32 k = 0; k < n_views; k++)
		if (overlaps(&views[k], start, end))
			return start < end;
	return false;
}

/* Views that start before `start` or extend beyond `end` are cut there. */
static void cut(u64 start, u64 end)
{
	for (u32 k = 0; k < n_views; k++) {
		struct view v = views[k];
		if (!overlaps(&v, start, end) || (v.start >= start && v.end <= end))
			continue;
		struct view before = part(&v, v.start, start), within = part(&v, start, end), behind = part(&v, end, v.end);
		drop(k--);
		add(&before);
		add(&within);
		add(&behind);
	}
}

static bool same_file(const struct view *a, const struct view *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/* This part of the file can be written from now on, through a page that is not watched: what was translated from its code is stale. */
static void writable_now(const struct view *w)
{
	u64 file_end = w->offset + (w->end - w->start);
	for (u32 k = 0; n_code && k < n_views; k++) {
		const struct view *x = &views[k];
		u64 x_end = x->offset + (x->end - x->start);
		if (!(x->prot & PROT_EXEC) || !same_file(x, w) || x->offset >= file_end || w->offset >= x_end)
			continue;
		u64 from = x->offset > w->offset ? x->offset : w->offset, to = x_end < file_end ? x_end : file_end;
		tw_fragment_invalidate(x->start + (from - x->offset), x->start + (to - x->offset));
	}
}

/* A view appears where nothing is any more. */
static void appear(const struct view *v)
{
	add(v);
	if (v->prot & PROT_WRITE)
		writable_now(v);
}

void tw_shared_mapped(u64 start, u64 length, int prot, int flags, int fd, u64 offset)
{
	struct view v = {start, start + tw_page_up(length), offset, 0, 0, prot};
	struct stat st;
	tw_shared_unmapped(v.start, v.end);
	if ((flags & MAP_TYPE) == MAP_PRIVATE)
		return;
	if (flags & MAP_ANONYMOUS) {
		v.device = ANONYMOUS;
		v.inode = n_anonymous++;
		v.offset = 0;
	} else if (!tw_failed(tw_sys(__NR_fstat, fd, &st, 0))) {
		v.device = st.st_dev;
		v.inode = st.st_ino;
	} else {
		return;
	}
	appear(&v);
}

void tw_shared_attached(u64 start, u64 bytes, int prot, int segment)
{
	const struct view v = {start, start + tw_page_up(bytes), 0, SEGMENT, (u64)segment, prot};
	tw_shared_unmapped(v.start, v.end);
	appear(&v);
}

void tw_shared_detached(u64 start, void (*f)(u64 start, u64 length))
{
	for (u32 k = 0; k < n_views; k++)
		if (views[k].device == SEGMENT && views[k].start - views[k].offset == start) {
			f(views[k].start, views[k].end - views[k].start);
			drop(k--);
		}
}

void tw_shared_found(u64 start, u64 end, int prot, u64 offset, u64 device, u64 inode)
{
	const struct view v = {start, end, offset, device, inode, prot};
	add(&v);
}

static void written(u64 call, u64 file)
{
	struct stat st;
	if (!__atomic_load_n(&n_code, __ATOMIC_RELAXED) || tw_failed(tw_sys((int)call, file, &st, 0)))
		return;
	const struct view all = {0, ~0ull, 0, st.st_dev, st.st_ino, 0};
	tw_lock(&tw_engine.lock);
	writable_now(&all);
	tw_unlock(&tw_engine.lock);
}

void tw_shared_file_written(int fd)
{
	written(__NR_fstat, (u64)fd);
}

void tw_shared_path_written(u64 path)
{
	written(__NR_stat, path);
}

void tw_shared_unmapped(u64 start, u64 end)
{
	if (!tw_shared_any(start, end))
		return;
	cut(start, end);
	for (u32 k = 0; k < n_views; k++)
		if (overlaps(&views[k], start, end))
			drop(k--);
}

void tw_shared_protected(u64 start, u64 end, int prot)
{
	cut(start, end);
	for (u32 k = 0; k < n_views; k++) {
		struct view *v = &views[k];
		if (!overlaps(v, start, end))
			continue;
		n_code += (u32)((prot & PROT_EXEC) != 0) - (u32)((v->prot & PROT_EXEC) != 0);
		v->prot = prot;
		if (prot & PROT_WRITE)
			writable_now(v);
	}
}

static const struct view *view_at(u64 address)
{
	for (u32 k = 0; k < n_views; k++)
		if (overlaps(&views[k], address, address + 1))
			return &views[k];
	return NULL;
}

void tw_shared_view(u64 address, u64 *start, u64 *end)
{
	const struct view *v = view_at(address);
	if (!v)
		return;
	*start = v->start;
	*end = v->end;
}

void tw_shared_moved(u64 from, u64 length, u64 to, u64 to_length, bool keep)
{
	const struct view *was = view_at(from);
	struct view v = {0};
	if (was)
		v = *was;
	v.offset += from - v.start;
	v.start = to;
	v.end = to + tw_page_up(to_length);
	if (!keep)
		tw_shared_unmapped(from, from + tw_page_up(length));
	tw_shared_unmapped(v.start, v.end);
	if (!was)
		return;
	add(&v);
	if (v.prot & PROT_WRITE)
		writable_now(&v);
}

/* Calls `f` with the pages other than `page` that are the same memory and permit this use. True if there is any. */
static bool for_each_other(const struct view *v, u64 page, int prot, void (*f)(u64 page))
{
	bool any = false;
	u64 offset = v->offset + (page - v->start);
	for (u32 k = 0; k < n_views; k++) {
		const struct view *o = &views[k];
		u64 other = o->start + (offset - o->offset);
		if ((o->prot & prot) && same_file(o, v) && offset >= o->offset && other < o->end && other != page) {
			any = true;
			f(other);
		}
	}
	return any;
}

void tw_shared_writers(u64 page, void (*f)(u64 page))
{
	const struct view *v = n_code ? view_at(page) : NULL;
	if (v)
		for_each_other(v, page, PROT_WRITE, f);
}

void tw_shared_code(u64 page, void (*f)(u64 page))
{
	const struct view *v = n_code ? view_at(page) : NULL;
	if (v && (v->prot & PROT_WRITE))
		for_each_other(v, page, PROT_EXEC, f);
}

static void nothing(u64 page)
{
	(void)page;
}

bool tw_shared_writable_code(u64 address)
{
	const struct view *v = n_code ? view_at(address) : NULL;
	return v && (v->prot & PROT_WRITE) && for_each_other(v, address & ~(u64)(TW_PAGE - 1), PROT_EXEC, nothing);
}
