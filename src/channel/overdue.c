#include "channel/overdue.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Also where it cannot be seen. */
static int is_traced(uint32_t pid, uint32_t tid)
{
	char path[64], line[256];
	unsigned tracer = 1;
	snprintf(path, sizeof path, "/proc/%u/task/%u/status", pid, tid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f) && sscanf(line, "TracerPid: %u", &tracer) != 1)
		;
	if (f)
		fclose(f);
	return tracer != 0;
}

/* As a timer of the engine's would. */
static int send_signal(uint32_t pid, uint32_t tid)
{
	siginfo_t info;
	memset(&info, 0, sizeof info);
	info.si_signo = SIGTRAP;
	info.si_code = SI_TIMER;
	info.si_value.sival_ptr = (void *)TW_ASK_MAGIC;
	return syscall(SYS_rt_tgsigqueueinfo, pid, tid, SIGTRAP, &info) == 0;
}

/* The slot may have become another thread's in between. */
static void ask(struct tw_slot *slot, uint32_t pid, uint32_t tid, uint32_t own_tid)
{
	uint32_t open = TW_ASK_OPEN, sent = TW_ASK_SENT;
	if (!atomic_compare_exchange_strong(&slot->ask, &open, TW_ASK_SENT))
		return;
	if (slot->tid != own_tid || !send_signal(pid, tid))
		atomic_compare_exchange_strong(&slot->ask, &sent, TW_ASK_OPEN);
}

void tw_overdue_look(struct tw_slot *slot, const struct tw_seen *seen, struct tw_overdue *o)
{
	const uint32_t current = atomic_load(&slot->current), own_tid = slot->tid;
	const uint32_t pid = tw_seen_pid(seen, slot->pid), tid = tw_seen_tid(seen, own_tid);
	const uint64_t most = (uint64_t)sysconf(_SC_CLK_TCK) / 5;
	if (!o->began || o->current != current) {
		*o = (struct tw_overdue){1, current, seen->cpu};
		return;
	}
	if (seen->state != 'R' || seen->cpu - o->cpu < most)
		return;
	o->cpu = seen->cpu;
	if (!is_traced(pid, tid))
		ask(slot, pid, tid, own_tid);
}
