/* The process, as the run-time copies in all modules share it: its recorder and its threads. */
#include "runtime.h"
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/resource.h>
#include <linux/un.h>
#include <stddef.h>

/* ---- the process ---- */

static bool starts_with(const char *s, const char *word, const char **rest)
{
	while (*word && *s == *word) {
		s++;
		word++;
	}
	*rest = s;
	return !*word;
}

static void copy_value(char *to, uint64_t room, const char *from)
{
	const uint64_t n = tw_cc_length(from);
	if (n < room)
		tw_cc_copy(to, from, n + 1);
}

/* Looks through the environment the process was started with. */
static void read_environment(struct tw_cc_process *p)
{
	char text[8192];
	uint64_t have = 0;
	const int fd = (int)SYS(__NR_open, "/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
	for (int64_t n; fd >= 0 && (n = SYS(__NR_read, fd, text + have, sizeof text - 1 - have)) > 0;) {
		have += (uint64_t)n;
		text[have] = 0;
		uint64_t at = 0;
		for (uint64_t end; (end = at + tw_cc_length(text + at)) < have; at = end + 1) {
			const char *value;
			if (starts_with(text + at, TW_ENV_CHANNEL, &value))
				copy_value(p->path, sizeof p->path, value);
			else if (starts_with(text + at, "TRACKWAY=off", &value))
				p->off = 1;
			else if (starts_with(text + at, "TRACKWAY=discard", &value))
				p->off = p->discards = 1;
		}
		have = have - at < sizeof text - 1 ? have - at : 0;
		tw_cc_copy(text, text + at, have);
	}
	SYS(__NR_close, fd);
}

/* Not if the address space is limited: then a process that becomes another user's is not recorded. */
static void map_whole(struct tw_cc_process *p, int fd)
{
	struct rlimit64 most = {0};
	SYS(__NR_prlimit64, 0, RLIMIT_AS, 0, &most);
	if (SYS(__NR_geteuid) || most.rlim_cur != RLIM64_INFINITY || tw_sizes_limited(&p->control->sizes))
		return;
	const uint64_t bytes = p->control->sizes.channel_bytes;
	const int64_t at = SYS(__NR_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	p->whole = tw_cc_failed(at) ? 0 : (uint64_t)at;
	if (p->whole)
		SYS(__NR_madvise, at, bytes, MADV_DONTDUMP);
}

/* Is no system call forbidden? */
static bool is_free(void)
{
	static const char want[] = "\nSeccomp:\t0";
	char text[4096];
	const int fd = (int)SYS(__NR_open, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
	const int64_t n = fd < 0 ? 0 : SYS(__NR_read, fd, text, sizeof text);
	SYS(__NR_close, fd);
	for (int64_t at = 0; at + (int64_t)sizeof want <= n; at++)
		if (tw_cc_same((const uint8_t *)text + at, (const uint8_t *)want, sizeof want - 1))
			return true;
	return false;
}

/* As the C library has them; the kernel's headers do not. */
enum { UNIX = 1, DATAGRAM = 2, AT_ONCE = 0x40 };

/* Has the collector report that this program is not in the recording. */
static void say_barred(const struct tw_cc_process *p)
{
	struct sockaddr_un at = {.sun_family = UNIX};
	const uint64_t path = tw_cc_length(p->path), name = sizeof TW_BARRED - 1;
	if (1 + name + path > sizeof at.sun_path || !is_free())
		return;
	tw_cc_copy(at.sun_path + 1, TW_BARRED, name);
	tw_cc_copy(at.sun_path + 1 + name, p->path, path);
	const int fd = (int)SYS(__NR_socket, UNIX, DATAGRAM | O_CLOEXEC, 0);
	SYS(__NR_sendto, fd, p->file, tw_cc_length(p->file), AT_ONCE, &at, sizeof at - sizeof at.sun_path + 1 + name + path);
	SYS(__NR_close, fd);
}

static bool open_channel(struct tw_cc_process *p)
{
	const int64_t fd = SYS(__NR_open, p->path, O_RDWR | O_CLOEXEC, 0);
	const int64_t at = tw_cc_failed(fd) || !p->threads
	                       ? -1
	                       : SYS(__NR_mmap, 0, TW_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (tw_cc_failed(at)) {
		SYS(__NR_close, fd);
		say_barred(p);
		return false;
	}
	p->control = ((struct tw_control *)at)->magic != TW_CHANNEL_MAGIC ? 0 : (struct tw_control *)at;
	const bool is_own = p->control && p->control->version == TW_CHANNEL_VERSION;
	if (p->control && !is_own)
		atomic_fetch_add(&p->control->refused, 1);
	if (is_own)
		map_whole(p, (int)fd);
	SYS(__NR_close, fd);
	return is_own && tw_form_of(p->control->format) == TW_FORM_PLAIN && p->control->format == TW_FORMAT_DEP &&
	       tw_channel_collector_alive(p->control);
}

static void find_mode(struct tw_cc_process *p)
{
	read_environment(p);
	const int64_t n = SYS(__NR_readlink, "/proc/self/exe", p->file, sizeof p->file - 1);
	p->file[n > 0 ? n : 0] = 0;
	p->pid = (uint32_t)SYS(__NR_getpid);
	if (!p->off && p->path[0] && open_channel(p)) {
		p->program = atomic_fetch_add(&p->control->next_program, 1) + 1;
		p->mode = TW_CC_RECORDED;
	} else {
		p->mode = !p->off && tw_cc_batch_begin(p) ? TW_CC_RECORDED : TW_CC_SILENT;
	}
}

/* Children have zeros there, where the system can do that (Linux 4.14). */
static uint32_t *map_known(void)
{
	const int64_t at = SYS(__NR_mmap, 0, TW_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (tw_cc_failed(at))
		return 0;
	SYS(__NR_madvise, at, TW_PAGE, MADV_WIPEONFORK);
	*(uint32_t *)at = 1;
	return (uint32_t *)at;
}

enum { EXISTS = 17 };

/* Valgrind, and Linux before 4.17, take the place as a hint: where something is already, they map elsewhere. */
static int64_t map_at_place(uint64_t bytes)
{
	const int64_t at = SYS(__NR_mmap, TW_CC_PLACE, bytes, PROT_READ | PROT_WRITE,
	                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (tw_cc_failed(at) || (uint64_t)at == TW_CC_PLACE)
		return at;
	SYS(__NR_munmap, at, bytes);
	return -EXISTS;
}

/* Threads take most of the memory. Without address space for it (ulimit -v), nothing is recorded. */
static struct tw_cc_process *map_process(void)
{
	struct tw_cc_process *p = (struct tw_cc_process *)TW_CC_PLACE;
	const int64_t whole = map_at_place(sizeof *p);
	const int64_t at = tw_cc_failed(whole) && whole != -EXISTS ? map_at_place(offsetof(struct tw_cc_process, thread)) : whole;
	if (at == -EXISTS)
		return p->mark == TW_CC_MARK && p->version == TW_CC_VERSION ? p : 0;
	if (tw_cc_failed(at) ||
	    !tw_cc_buffer_map(TW_CC_NOWHERE, TW_CC_SPARE + TW_CC_RESERVE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))
		return 0;
	p->threads = tw_cc_failed(whole) ? 0 : TW_CC_THREADS;
	p->is_known = map_known();
	p->version = TW_CC_VERSION;
	p->mark = TW_CC_MARK;
	return p;
}

struct tw_cc_process *tw_cc_process(void)
{
	static struct tw_cc_process *known;
	struct tw_cc_process *p = known ? known : map_process();
	if (!p)
		__builtin_trap();
	known = p;
	if (p->mode != TW_CC_UNSET)
		return p;
	const uint64_t mask = tw_cc_lock(p);
	if (p->mode == TW_CC_UNSET)
		find_mode(p);
	tw_cc_unlock(p, mask);
	return p;
}

/* ---- threads ---- */

void tw_cc_forget_streams(struct tw_cc_process *p, struct tw_cc_thread *t, bool own)
{
	for (uint32_t k = 0; k < t->streams; k++) {
		if (!own)
			t->stream[k].active = 0;
		tw_cc_stream_forget(p, &t->stream[k]);
		t->stream[k] = (struct tw_cc_stream){0};
	}
	t->streams = t->current = 0;
}

/* The thread is known from here on. If another thread at the same address ended without telling, its entry is given up. */
static struct tw_cc_thread *enter(struct tw_cc_process *p, struct tw_cc_thread *t, uint64_t tp, uint32_t tid)
{
	const bool is_first = tid == p->pid;
	if (t->tp && tw_cc_batch_open(p))
		p->batch->handover->inherit(p, t);
	tw_cc_forget_streams(p, t, false);
	t->tid = tid;
	t->parent_pid = is_first ? (p->parent_pid ? p->parent_pid : (uint32_t)SYS(__NR_getppid)) : p->pid;
	t->parent_tid = is_first ? p->parent_tid : p->pid;
	t->streams = 1;
	t->calls = t->stray = 0;
	t->hops = t->ended = t->aside = t->hides_fault = false;
	t->quiet.pointer = 0;
	const uint32_t k = (uint32_t)(t - p->thread);
	__atomic_fetch_or(&p->used[k / 64], 1ull << k % 64, __ATOMIC_RELEASE);
	__atomic_store_n(&t->tp, tp, __ATOMIC_RELEASE);
	return t;
}

struct tw_cc_thread *tw_cc_again(struct tw_cc_process *p)
{
	const uint64_t tp = tw_cc_thread_pointer();
	for (uint32_t k = 0; k < p->threads; k++) {
		struct tw_cc_thread *t = tw_cc_entry(p, tp, k);
		const uint64_t there = __atomic_load_n(&t->tp, __ATOMIC_ACQUIRE);
		if (there == tp)
			return t;
		if (!there)
			break;
	}
	return p->threads ? tw_cc_self(p) : 0;
}

struct tw_cc_thread *tw_cc_self(struct tw_cc_process *p)
{
	const uint32_t tid = (uint32_t)SYS(__NR_gettid);
	const uint64_t tp = tw_cc_thread_pointer();
	bool is_there;
	struct tw_cc_thread *t = tw_cc_look_up(p, tid, &is_there);
	if (is_there || !t)
		return t;
	const uint64_t mask = tw_cc_lock(p);
	if (t->tp && t->tp != tp)
		t = 0; /* another thread was quicker */
	else
		enter(p, t, tp, tid);
	tw_cc_unlock(p, mask);
	return t ? t : tw_cc_self(p);
}
