#include "engine/engine.h"
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>

struct engine tw_engine;

i64 tw_channel_open(void)
{
	struct stat st;
	i64 fd = tw_sys(__NR_open, tw_engine.channel_path, O_RDWR | O_CLOEXEC, 0);
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
