#include "channel/displaced.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
	MOST_THREADS = 100,     /* looked at in one look */
	REMEMBERED = 64,        /* looks: what was before that counts for little */
	ENOUGH_BYTES = 1 << 18, /* ... of which these many tell what a byte costs */
	MOST_PER_1024 = 1 << 17
};

/* For how many ns the thread has waited for a processor so far; 0: the kernel does not report it. */
static uint64_t delay_of(uint32_t pid, uint32_t tid)
{
	char path[64], text[96];
	snprintf(path, sizeof path, "/proc/%u/task/%u/schedstat", pid, tid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	char *end = text;
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	strtoull(text, &end, 10);
	return strtoull(end, NULL, 10);
}

/* The same since it was last looked at. */
static uint64_t take_delay(const struct tw_slot *slot, struct tw_drained *t)
{
	const uint32_t pid = tw_seen_pid(&t->seen, slot->pid), tid = tw_seen_tid(&t->seen, slot->tid);
	const uint64_t now = delay_of(pid, tid), then = t->delay;
	const int is_same = t->delay_of == tid;
	t->delay_of = tid;
	t->delay = now;
	return is_same && now > then ? now - then : 0;
}

static uint64_t take_delays(struct tw_collector *c)
{
	const uint32_t used = tw_channel_slots_used(c->control);
	uint64_t sum = 0;
	for (uint32_t s = 0, left = MOST_THREADS; s < used && left; s++) {
		if (atomic_load(&c->control->slot[s].state) != TW_SLOT_ACTIVE)
			continue;
		sum += take_delay(&c->control->slot[s], &c->thread[s]);
		left--;
	}
	return sum;
}

/* That its process has taken up to now, in ns. */
static uint64_t time_by(clockid_t clock)
{
	struct timespec t = {0};
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What the recorder has taken, analyzers included; for ended analyzers the last known value. */
static uint64_t own_time(struct tw_collector *c)
{
	clockid_t analyzers;
	if (c->analyzers && !clock_getcpuclockid(c->analyzers, &analyzers))
		c->displaced.analyzers = time_by(analyzers);
	return time_by(CLOCK_PROCESS_CPUTIME_ID) + c->displaced.analyzers;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void tw_displaced_look(struct tw_collector *c)
{
	struct tw_displaced *d = &c->displaced;
	const uint64_t own = own_time(c), delays = take_delays(c), written = c->written;
	if (d->own) {
		d->taken += smaller(own - d->own, delays) - d->taken / REMEMBERED;
		d->bytes += written - d->written - d->bytes / REMEMBERED;
	}
	d->own = own;
	d->written = written;
	if (d->bytes >= ENOUGH_BYTES)
		atomic_store(&c->control->budget.displaced_per_1024, smaller(d->taken / (d->bytes / 1024), MOST_PER_1024));
}
