#include "channel/liveness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Does a thread still have memory? Asked without a descriptor; 1 also if unknown. */
static int has_memory(uint32_t pid, uint32_t tid)
{
	char path[64], program;
	snprintf(path, sizeof path, "/proc/%u/task/%u/exe", pid, tid);
	return readlink(path, &program, 1) >= 0 || (errno != ENOENT && errno != ESRCH);
}

/* The contents of /proc/PID/task/TID/stat, from the third field on (state); 0 if there is no such thread; -1: unknown. */
static int read_stat(uint32_t pid, uint32_t tid, char *stat, size_t size, const char **fields)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%u/task/%u/stat", pid, tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return has_memory(pid, tid) ? -1 : 0;
	if (fd < 0)
		return errno != ENOENT && errno != ESRCH ? -1 : 0;
	ssize_t n = read(fd, stat, size - 1);
	close(fd);
	if (n <= 0)
		return 0;
	stat[n] = 0;
	*fields = strrchr(stat, ')');
	return *fields && strlen(*fields) > 2 ? (*fields += 2, 1) : -1;
}

/* Field `n` of those that begin with field 3, as a number. */
static unsigned long long stat_number(const char *fields, int n)
{
	for (int i = 3; fields && i < n; i++)
		fields = strchr(fields + 1, ' ');
	return fields ? strtoull(fields, NULL, 10) : 0;
}

enum { UTIME = 14, STIME = 15, NUM_THREADS = 20, START_TIME = 22, EXIT_CODE = 52 };

/* ---- namespaces ---- */

/* Does a thread have the channel mapped? 1 also if unknown. */
static int has_channel(uint32_t pid, uint32_t tid, ino_t channel)
{
	char path[64], line[8192];
	unsigned long long inode;
	int found = 0;
	snprintf(path, sizeof path, "/proc/%u/task/%u/maps", pid, tid);
	FILE *f = fopen(path, "re");
	if (!f)
		return errno != ENOENT && errno != ESRCH;
	while (!found && fgets(line, sizeof line, f))
		found = sscanf(line, "%*s %*s %*s %*s %llu", &inode) == 1 && inode == channel;
	found |= ferror(f) != 0; /* while other threads map and unmap a lot, reading may end halfway */
	fclose(f);
	return found;
}

/* Does its memory say that a thread has this slot? -1: unknown. */
static int has_mark(uint32_t tid, const struct tw_slot *slot)
{
	uint64_t mark = 0;
	const struct iovec here = {&mark, sizeof mark}, there = {(void *)slot->mark, sizeof mark};
	if (process_vm_readv((pid_t)tid, &here, 1, &there, 1, 0) == sizeof mark)
		return mark == tw_slot_mark(atomic_load(&slot->serial));
	return errno == EFAULT || errno == ESRCH ? 0 : -1;
}

/*
 * Does a process or thread, given by its directory in /proc, have this number in its own namespace, if that is not
 * this one; or with `by_any`, in any one below this: its creator's, which may know it before it knows itself?
 */
static int is_called(const char *directory, uint32_t number, int by_any)
{
	char path[512], line[256];
	unsigned here = 0, own = 0;
	int skipped = 0, found = 0;
	snprintf(path, sizeof path, "%s/status", directory);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "NSpid: %u%n", &here, &skipped) == 1)
			for (char *s = line + skipped; sscanf(s, "%u%n", &own, &skipped) == 1; s += skipped)
				found |= by_any && own == number;
	if (f)
		fclose(f);
	return found || own == number;
}

/* The entry of a directory of processes or threads that comes next and is called so; 0: no more. */
static uint32_t next_called(DIR *d, const char *directory, uint32_t number, int by_any)
{
	char path[400];
	for (const struct dirent *e; (e = readdir(d));) {
		snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && is_called(path, number, by_any))
			return (uint32_t)strtoul(e->d_name, NULL, 10);
	}
	return 0;
}

static uint32_t find_thread(uint32_t pid, uint32_t own_tid, int by_any)
{
	char directory[64];
	snprintf(directory, sizeof directory, "/proc/%u/task", pid);
	DIR *d = opendir(directory);
	uint32_t tid = d ? next_called(d, directory, own_tid, by_any) : 0;
	if (d)
		closedir(d);
	return tid;
}

/* Is this a thread of this process? /proc lists it under its number, too. */
static int is_own(uint32_t tid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/task/%u", tid);
	return !access(path, F_OK);
}

/* What is said of a thread by its number here. */
enum { NOT_IT, MAY_BE_IT, IS_IT };

/*
 * Is it, by its number here, the thread that has the slot? It has the mark, and the channel: threads of other
 * recordings have the same marks. If the mark is unknown: may it be, with the channel mapped?
 */
static int has_slot(uint32_t pid, uint32_t tid, ino_t channel, const struct tw_slot *slot)
{
	const int marked = has_mark(tid, slot);
	if (!marked || !has_channel(pid, tid, channel))
		return NOT_IT;
	return marked > 0 ? IS_IT : MAY_BE_IT;
}

/*
 * May this thread, by its number here, be the one that has the slot: not of this process, started after this one, and
 * attached if it must be? If it has yet to attach, only its number tells, which others have, too, each in a namespace
 * of its own: then it is not one that has ended, as long as another may be it.
 */
static int may_be(uint32_t pid, uint32_t tid, ino_t channel, const struct tw_slot *slot, int attached)
{
	char stat[1024], own[1024];
	const char *fields = NULL, *own_fields = NULL;
	if (is_own(pid) || read_stat(pid, tid, stat, sizeof stat, &fields) != 1)
		return 0;
	if (read_stat((uint32_t)getpid(), (uint32_t)getpid(), own, sizeof own, &own_fields) == 1 &&
	    stat_number(fields, START_TIME) < stat_number(own_fields, START_TIME))
		return 0;
	if (!attached && (*fields == 'Z' || *fields == 'X'))
		return NOT_IT;
	return attached ? has_slot(pid, tid, channel, slot) : MAY_BE_IT;
}

/* The numbers here of the thread that calls itself *pid, *tid; 0: there is none. One that has yet to attach does not have the channel. */
static int find_here(ino_t channel, const struct tw_slot *slot, int attached, uint32_t *pid, uint32_t *tid)
{
	const uint32_t own_pid = *pid, own_tid = *tid;
	int found = may_be(*pid, *tid, channel, slot, attached);
	DIR *d = found ? NULL : opendir("/proc");
	while (d && !found && (*pid = next_called(d, "/proc", own_pid, !attached))) {
		*tid = find_thread(*pid, own_tid, !attached);
		found = *tid ? may_be(*pid, *tid, channel, slot, attached) : NOT_IT;
	}
	if (d)
		closedir(d);
	return found;
}

/*
 * A zombie accepts signals, so ask /proc. A thread that was never seen with the channel may still be the one,
 * although it has nothing mapped any more.
 */
int tw_thread_has_ended(const struct tw_slot *slot, ino_t channel, int namespaces, struct tw_seen *seen)
{
	char stat[1024];
	const char *fields = NULL;
	seen->state = 0;
	int attached = atomic_load(&slot->state) == TW_SLOT_ACTIVE, here = 1;
	uint32_t pid = tw_seen_pid(seen, slot->pid), tid = tw_seen_tid(seen, slot->tid);
	if (namespaces && !seen->pid)
		here = find_here(channel, slot, attached, &pid, &tid);
	if (namespaces && here && attached && !seen->pid) {
		seen->certain = here == IS_IT;
		seen->pid = pid;
		seen->tid = tid;
	}
	int found = here ? read_stat(pid, tid, stat, sizeof stat, &fields) : read_stat(slot->pid, slot->tid, stat, sizeof stat, &fields);
	if (found <= 0)
		return found == 0;
	seen->state = *fields;
	seen->cpu = stat_number(fields, UTIME) + stat_number(fields, STIME);
	if (*fields != 'Z' && *fields != 'X')
		return !here;
	seen->dead = slot->pid == slot->tid && stat_number(fields, NUM_THREADS) <= 1;
	seen->wait_status = (int32_t)stat_number(fields, EXIT_CODE);
	return 1;
}
