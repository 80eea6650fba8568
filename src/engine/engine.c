#include "engine/engine.h"
#include <asm/errno.h>
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/futex.h>

struct engine tw_engine;
bool tw_dear_pages;

/* The collector's thread without capabilities; one is started if there is none yet. 0: there is none. */
static u32 find_holder(void)
{
	enum { PAUSE = 500, PATIENCE = 100000 }; /* us */
	struct tw_control *c = tw_engine.control;
	u32 holder = 0;
	if (__atomic_compare_exchange_n((u32 *)&c->holder, &holder, TW_HOLDER_WANTED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		holder = TW_HOLDER_WANTED;
		__atomic_fetch_add((u32 *)&c->doorbell, 1, __ATOMIC_RELEASE);
		tw_sys(__NR_futex, &c->doorbell, FUTEX_WAKE, 1);
	}
	for (u32 us = 0; holder == TW_HOLDER_WANTED && us < PATIENCE && tw_channel_collector_alive(c); us += PAUSE) {
		tw_pause(PAUSE);
		holder = __atomic_load_n((u32 *)&c->holder, __ATOMIC_ACQUIRE);
	}
	return holder == TW_HOLDER_WANTED ? 0 : holder;
}

/* From here on the memfd's path leads through the holder; its length stays the same. False: it does already, or there is no holder. */
static bool go_by_holder(void)
{
	char *to = tw_engine.channel_paths[1], rest[sizeof tw_engine.channel_paths[1]];
	const size_t n = strlen(tw_engine.channel_path), of_proc = sizeof "/proc/" - 1;
	const u32 holder = tw_engine.control && tw_engine.channel_path != to ? find_holder() : 0;
	const size_t n_rest = tw_format(rest, sizeof rest, "%u/fd/%s", holder, tw_base_name(tw_engine.channel_path));
	if (!holder || of_proc + n_rest > n)
		return false;
	tw_format(to, sizeof tw_engine.channel_paths[1], "/proc/");
	memset(to + of_proc, '/', n - of_proc);
	memcpy(to + n - n_rest, rest, n_rest + 1);
	__atomic_store_n(&tw_engine.channel_path, to, __ATOMIC_RELEASE);
	return true;
}

static i64 open_channel(void)
{
	return tw_sys(__NR_open, tw_engine.channel_path, O_RDWR | O_CLOEXEC, 0);
}

i64 tw_channel_open(void)
{
	struct stat st;
	i64 fd = open_channel();
	if (fd == -EACCES && go_by_holder())
		fd = open_channel();
	if (tw_failed(fd) || (!tw_failed(tw_sys(__NR_fstat, fd, &st, 0)) && st.st_ino == tw_engine.channel_inode))
		return fd;
	tw_sys(__NR_close, fd, 0, 0);
	return -1;
}

void tw_print(const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	va_start(ap, fmt);
	size_t n = tw_vformat(line, sizeof line, fmt, ap);
	va_end(ap);
	tw_sys(__NR_write, 2, line, n);
}

void tw_engine_fail(u32 failure, const char *fmt, ...)
{
	struct tw_control *c = tw_engine.control;
	u32 none = 0;
	va_list ap;
	if (!__atomic_compare_exchange_n((u32 *)&c->failure, &none, failure, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	va_start(ap, fmt);
	tw_vformat(c->failure_text, sizeof c->failure_text, fmt, ap);
	va_end(ap);
}
