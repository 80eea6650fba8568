#include "engine/kernel/process.h"
#include "engine/record/buffer.h"
#include <linux/fcntl.h>
#include <asm/stat.h>
#include <asm/unistd.h>

/* Room for path and arguments in one event, besides its header and struct. */
#define PROGRAM_BYTES (TW_MAX_EVENT - 64)

static char program_text[PROGRAM_BYTES]; /* used once, before the program runs */

/* Appends the string and its NUL; false: no more room. */
static bool append(u32 *n, const char *s)
{
	u64 bytes = strlen(s) + 1;
	if (bytes > PROGRAM_BYTES - *n)
		return false;
	memcpy(program_text + *n, s, bytes);
	*n += (u32)bytes;
	return true;
}

void tw_process_tell_program(struct thread *t, char *const *argv)
{
	struct tw_program_start e = {t->pid, 0, tw_buffer_time(t)};
	u32 n = 0;
	append(&n, tw_engine.program_path);
	while (argv[e.n_args] && append(&n, argv[e.n_args]))
		e.n_args++;
	tw_buffer_event(t, TW_EVENT_PROGRAM, &e, sizeof e, program_text, n);
}

/* ---- children ---- */

static void tell_end(struct thread *t, u32 pid, i32 status)
{
	struct tw_child_end e = {pid, status, tw_buffer_time(t)};
	tw_buffer_event(t, TW_EVENT_CHILD_END, &e, sizeof e, NULL, 0);
}

void tw_process_tell_wait4(struct thread *t, i64 result, const i32 *status)
{
	i32 s;
	if (result <= 0 || !tw_copy(&s, status, sizeof s))
		return;
	bool stopped = (s & 0xff) == 0x7f, continued = s == 0xffff;
	if (!stopped && !continued)
		tell_end(t, (u32)result, s);
}

void tw_process_tell_waitid(struct thread *t, i64 result, const siginfo_t *info)
{
	siginfo_t i;
	if (result || !tw_copy(&i, info, sizeof i) || i.si_signo != SIGCHLD)
		return;
	if (i.si_code == CLD_EXITED)
		tell_end(t, (u32)i.si_pid, (i.si_status & 0xff) << 8);
	else if (i.si_code == CLD_KILLED || i.si_code == CLD_DUMPED)
		tell_end(t, (u32)i.si_pid, i.si_status | (i.si_code == CLD_DUMPED ? 0x80 : 0));
}

/* ---- /proc ---- */

/* Takes `word` off the front of *s. */
static bool take_word(const char **s, const char *word)
{
	if (!tw_starts_with(*s, word))
		return false;
	*s += strlen(word);
	return true;
}

/* Takes a decimal number off the front of *s. */
static bool take_number(const char **s, u32 *n)
{
	const char *p = *s;
	for (*n = 0; *p >= '0' && *p <= '9'; p++)
		*n = *n * 10 + (u32)(*p - '0');
	bool any = p != *s;
	*s = p;
	return any;
}

/* Removes superfluous slashes and "." components. */
static void simplify(char *p)
{
	char *to = p;
	for (const char *c = p; *c;) {
		const u32 skip = *c != '/' ? 0 : c[1] == '/' ? 1 : c[1] == '.' && (c[2] == '/' || !c[2]) ? 2 : 0;
		if (!skip)
			*to++ = *c;
		c += skip ? skip : 1;
	}
	*to = 0;
}

/* Where a relative path begins: the directory open as `dir`, or the current one. False: not in /proc. */
static bool find_directory(i32 dir, char *path, u64 room)
{
	char link[32];
	if (dir == AT_FDCWD)
		tw_format(link, sizeof link, "/proc/self/cwd");
	else
		tw_format(link, sizeof link, "/proc/self/fd/%d", dir);
	const i64 n = tw_sys(__NR_readlink, link, path, room - 1);
	path[n > 0 ? n : 0] = 0;
	return tw_starts_with(path, "/proc");
}

bool tw_process_has_namespaces(void)
{
	return __atomic_load_n((const u32 *)&tw_engine.control->namespaces, __ATOMIC_RELAXED) != 0;
}

/* This process's number in /proc: that is not always of the namespace in which this process is. */
static u32 own_number(void)
{
	char link[16];
	const char *s = link;
	u32 pid = tw_engine.pid;
	if (!tw_process_has_namespaces())
		return pid;
	const i64 n = tw_sys(__NR_readlink, "/proc/self", link, sizeof link - 1);
	link[n > 0 ? n : 0] = 0;
	return take_number(&s, &pid) ? pid : 0;
}

/* The process whose `exe` this absolute path is, by its number there; 0: none. */
static u32 exe_owner(const char *p)
{
	u32 pid, thread;
	if (!take_word(&p, "/proc/"))
		return 0;
	if (take_word(&p, "self/") || take_word(&p, "thread-self/"))
		pid = own_number();
	else if (!take_number(&p, &pid) || !take_word(&p, "/"))
		return 0;
	if (take_word(&p, "task/") && !(take_number(&p, &thread) && take_word(&p, "/")))
		return 0;
	return tw_streq(p, "exe") ? pid : 0;
}

/* The slot of a recorded thread of this process, or if pid is 0 of any process; NO_SLOT: none. */
static u32 find_slot(u32 pid, u32 tid)
{
	for (u32 i = 0; i < tw_channel_slots_used(tw_engine.control); i++) {
		const struct tw_slot *s = &tw_engine.control->slot[i];
		if (__atomic_load_n((const u32 *)&s->state, __ATOMIC_ACQUIRE) == TW_SLOT_ACTIVE && (!pid || s->pid == pid) && s->tid == tid)
			return i;
	}
	return NO_SLOT;
}

/* Does the process whose memory file this is have a thread with this slot? */
static bool has_mark(i64 memory, const struct tw_slot *s)
{
	u64 mark = 0;
	return tw_sys4(__NR_pread64, memory, &mark, sizeof mark, s->mark) == sizeof mark && mark == tw_slot_mark(s->serial);
}

/* As tw_process_shown, where numbers do not suffice. False: nothing can be read there. */
static bool find_by_mark(const char *directory, u32 tid, u32 *slot, u32 *first)
{
	char path[128];
	tw_format(path, sizeof path, "%s/mem", directory);
	const i64 memory = tw_sys(__NR_open, path, O_RDONLY | O_CLOEXEC, 0);
	*slot = *first = NO_SLOT;
	if (tw_failed(memory))
		return false;
	for (u32 i = 0; i < tw_channel_slots_used(tw_engine.control); i++) {
		const struct tw_slot *s = &tw_engine.control->slot[i];
		if (__atomic_load_n((const u32 *)&s->state, __ATOMIC_ACQUIRE) != TW_SLOT_ACTIVE || !has_mark(memory, s))
			continue;
		*first = s->pid == s->tid ? i : *first;
		*slot = s->tid == tid ? i : *slot;
	}
	*slot = *slot == NO_SLOT ? *first : *slot; /* in /proc of another namespace it has another number */
	tw_sys(__NR_close, memory, 0, 0);
	return true;
}

/* Does the process there run the same file as this one, the engine? */
static bool runs_engine(const char *directory)
{
	char path[128], own[256], there[256];
	tw_format(path, sizeof path, "%s/exe", directory);
	const i64 n = tw_sys(__NR_readlink, "/proc/self/exe", own, sizeof own);
	return n > 0 && tw_sys(__NR_readlink, path, there, sizeof there) == n && !memcmp(own, there, (u64)n);
}

bool tw_process_shown(const char *directory, u32 tid, u32 *slot, u32 *first)
{
	if (!tw_process_has_namespaces() || (!find_by_mark(directory, tid, slot, first) && runs_engine(directory))) {
		*slot = find_slot(0, tid);
		*first = *slot == NO_SLOT ? NO_SLOT : find_slot(tw_engine.control->slot[*slot].pid, tw_engine.control->slot[*slot].pid);
	}
	return *slot != NO_SLOT && *first != NO_SLOT;
}

bool tw_process_is_recorded(u32 pid)
{
	return pid == tw_engine.pid || find_slot(pid, pid) != NO_SLOT;
}

u32 *tw_process_trace(u32 tid)
{
	const u32 slot = find_slot(0, tid);
	return slot == NO_SLOT ? NULL : (u32 *)&tw_engine.control->slot[slot].trace;
}

bool tw_process_traced(void)
{
	static const char name[] = "\nTracerPid:\t";
	char status[512];
	u32 pid = 0;
	i64 fd = tw_sys(__NR_open, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC, 0);
	i64 n = tw_failed(fd) ? 0 : tw_sys(__NR_read, fd, status, sizeof status - 1);
	if (!tw_failed(fd))
		tw_sys(__NR_close, fd, 0, 0);
	status[n > 0 ? n : 0] = 0;
	const char *s = status;
	while (*s && !take_word(&s, name))
		s++;
	take_number(&s, &pid);
	return pid && find_slot(0, pid) != NO_SLOT;
}

void tw_process_tell_namespace(void)
{
	__atomic_store_n((u32 *)&tw_engine.control->namespaces, 1, __ATOMIC_SEQ_CST);
}

bool tw_process_reaches_engine(void)
{
	const i64 fd = tw_channel_open();
	if (tw_failed(fd))
		return false;
	tw_sys(__NR_close, fd, 0, 0);
	return !tw_failed(tw_sys(__NR_access, tw_kernel.engine_path, 1 /* X_OK */, 0));
}

const char *tw_process_exe(i32 dir, u64 path)
{
	char p[64], whole[2 * sizeof p] = "";
	u32 pid = 0;
	if (!tw_copy_string(p, (const char *)path, sizeof p) || !tw_streq(tw_base_name(p), "exe"))
		return NULL;
	if (p[0] == '/' || find_directory(dir, whole, sizeof p)) {
		const size_t n = strlen(whole);
		tw_format(whole + n, sizeof whole - n, "/%s", p);
		simplify(whole);
		pid = exe_owner(whole);
	}
	if (!pid || pid == own_number())
		return pid ? tw_engine.program_path : NULL;
	u32 slot, first;
	whole[strlen(whole) - strlen("/exe")] = 0;
	return tw_process_shown(whole, pid, &slot, &first) ? tw_engine.control->program[first] : NULL;
}
