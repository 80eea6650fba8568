#include "channel/channel_file.h"
#include "channel/collector_state.h"
#include "recording/recording.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(pthread_mutex_t) <= 64, "tw_control.life has room for a mutex");
_Static_assert(offsetof(struct tw_control, life) % _Alignof(pthread_mutex_t) == 0, "tw_control.life is aligned for a mutex");

/* A limit on file sizes applies here, too, although this is no real file. Raises temporarily what can be raised without privilege. */
static int set_size(int fd, uint64_t bytes)
{
	struct rlimit before, most;
	getrlimit(RLIMIT_FSIZE, &before);
	most = before;
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_FSIZE, &most);
	int failed = ftruncate(fd, (off_t)bytes), why = errno;
	setrlimit(RLIMIT_FSIZE, &before);
	if (failed && why == EFBIG)
		return tw_fail(TW_ERR_SYSTEM,
		               "the limit on the size of files (ulimit -f) is below the %llu MB of shared memory that recording needs",
		               (unsigned long long)(bytes >> 20));
	return failed ? tw_fail(TW_ERR_SYSTEM, "shared memory: %s", strerror(why)) : TW_OK;
}

void tw_channel_path(const struct tw_collector *c, uint32_t of, char *to, size_t size)
{
	enum { LONGEST = 26 };
	char rest[LONGEST + 1];
	const int n = snprintf(rest, sizeof rest, "%u/fd/%d", of, c->fd);
	snprintf(to, size, "/proc/%.*s%s", LONGEST - n, "//////////////////////////", rest);
}

int tw_channel_map(struct tw_collector *c, const struct tw_sizes *sizes)
{
	char name[32];
	snprintf(name, sizeof name, "trackway-%d", (int)getpid()); /* by which `trackway stop` finds this process */
	c->fd = memfd_create(name, MFD_CLOEXEC);
	int error = c->fd < 0 ? tw_fail(TW_ERR_SYSTEM, "shared memory: %s", strerror(errno)) : set_size(c->fd, sizes->memfd_bytes);
	if (error)
		return error;
	void *base = mmap(NULL, sizes->channel_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, c->fd, 0);
	if (base == MAP_FAILED)
		return tw_fail(TW_ERR_SYSTEM, "shared memory: %s", strerror(errno));
	struct stat st;
	c->inode = fstat(c->fd, &st) ? 0 : st.st_ino;
	c->base = base;
	c->control = base;
	c->control->sizes = *sizes;
	tw_channel_path(c, (uint32_t)getpid(), c->path, sizeof c->path);
	return TW_OK;
}

pthread_mutex_t *tw_channel_life(struct tw_collector *c)
{
	return (pthread_mutex_t *)(void *)&c->control->life;
}

int tw_channel_make_life(struct tw_collector *c)
{
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	int why = pthread_mutex_init(tw_channel_life(c), &a);
	pthread_mutexattr_destroy(&a);
	return why ? tw_fail(TW_ERR_SYSTEM, "mutex: %s", strerror(why)) : TW_OK;
}
