#include "engine/kernel/exec.h"
#include "base/set_id.h"
#include "engine/record/ask.h"
#include "engine/record/buffer.h"
#include "engine/signal/action.h"
#include "engine/signal/pending.h"
#include "engine/code/memory.h"
#include "engine/kernel/limits.h"
#include "engine/kernel/process.h"
#include "engine/kernel/seccomp.h"
#include "engine/signal/signal.h"
#include "engine/record/slot.h"
#include "engine/record/recording.h"
#include "engine/code/snapshot.h"
#include "engine/x86_64/glue.h"
#include <asm/errno.h>
#include <asm/stat.h>
#include <asm/unistd.h>
#include <elf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/stat.h>

#define MAX_STRINGS  (64u << 20) /* more than the kernel takes, whatever the limit of the stack */
#define MAX_SCRIPTS  4
#define ROOM_FIRST   8u  /* entries that scripts add before argv and the engine before envp, and the final NULL */
#define HEAD_BYTES   255 /* the kernel reads 256 bytes, and needs the last for itself */
#define MAX_PHDRS    1170
#define ERROR_NOEXEC (-8)

/* The program to be executed, resolved through scripts. It is in a mapping of its own, made for one exec, followed by argv and envp. */
struct plan_exec {
	char program[4096];
	struct stat stat; /* of the program */
	char name[256];   /* what the process is to be called */
	char given[4150]; /* what a script is told that it is called */
	char head[HEAD_BYTES + 1];
	char interpreter_arg[MAX_SCRIPTS][HEAD_BYTES];
	char script[MAX_SCRIPTS][4096];
	char environment[2][4400];
	u64 bytes; /* of the mapping */
	u32 max_argv, max_envp;
	u64 *argv, *envp;
};

/* The length of a NULL-terminated array of pointers, or an error. */
static i64 count_pointers(u64 from)
{
	u64 p = 1;
	for (u32 n = 0; n < MAX_STRINGS; n++) {
		if (from && !tw_copy(&p, (void *)(from + 8ull * n), 8))
			return -14;
		if (!from || !p)
			return n;
	}
	return -7; /* E2BIG */
}

/* With room for these strings. NULL: they cannot be read, are too many, or there is no memory. */
static struct plan_exec *new_plan(u64 argv, u64 envp)
{
	const i64 argc = count_pointers(argv), envc = count_pointers(envp);
	if (argc < 0 || envc < 0)
		return NULL;
	u64 bytes = sizeof(struct plan_exec) + (u64)(argc + envc + 2 * (i64)ROOM_FIRST) * 8;
	i64 at = tw_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (tw_failed(at))
		return NULL;
	struct plan_exec *p = (struct plan_exec *)at;
	p->bytes = bytes;
	p->max_argv = (u32)argc + ROOM_FIRST;
	p->max_envp = (u32)envc + ROOM_FIRST;
	p->argv = (u64 *)(p + 1);
	p->envp = p->argv + p->max_argv;
	return p;
}

/* Copies a NULL-terminated array of pointers; the count, or an error. */
static i64 copy_pointers(u64 *to, u64 from, u32 max)
{
	for (u32 n = 0; n < max; n++) {
		to[n] = 0;
		if (from && !tw_copy(&to[n], (void *)(from + 8ull * n), 8))
			return -14;
		if (!to[n])
			return n;
	}
	return -7; /* E2BIG */
}

/* The path of what `fd` is open on, in p->program. */
static i64 path_of(struct plan_exec *p, i64 fd)
{
	char link[48];
	tw_format(link, sizeof link, "/proc/self/fd/%d", (int)fd);
	i64 n = tw_sys(__NR_readlink, link, p->program, sizeof p->program - 1);
	p->program[n > 0 ? n : 0] = 0;
	return n > 0 ? 0 : ERROR_NOEXEC;
}

/* Puts the program's absolute path into p->program, and the name that a script would be given into p->given. */
static i64 absolute(struct plan_exec *p, int dirfd, u64 path, int flags)
{
	const char *exe = tw_process_exe(dirfd, path);
	if (!tw_copy_string(p->given, (const char *)path, sizeof p->program))
		return -14;
	if (exe || p->given[0] == '/' || (dirfd == AT_FDCWD && p->given[0])) {
		tw_format(p->program, sizeof p->program, "%s", exe ? exe : p->given);
		return 0;
	}
	const bool itself = !p->given[0] && (flags & AT_EMPTY_PATH);
	i64 fd = itself ? dirfd : tw_sys4(__NR_openat, dirfd, p->given, O_PATH | O_CLOEXEC, 0);
	if (tw_failed(fd))
		return fd;
	i64 r = path_of(p, fd);
	if (!itself)
		tw_sys(__NR_close, fd, 0, 0);
	char below[4096];
	tw_format(below, sizeof below, "%s", p->given);
	tw_format(p->given, sizeof p->given, itself ? "/dev/fd/%d" : "/dev/fd/%d/%s", dirfd, below);
	return r;
}

/* Reads the first bytes of the program. Only regular files are opened: opening others may block, as for a named pipe, or have effects. */
static i64 read_head(struct plan_exec *p)
{
	if (tw_failed(tw_sys(__NR_stat, p->program, &p->stat, 0)) || !S_ISREG(p->stat.st_mode))
		return -EACCES;
	i64 fd = tw_sys(__NR_open, p->program, O_RDONLY | O_CLOEXEC, 0);
	if (tw_failed(fd))
		return fd;
	memset(p->head, 0, sizeof p->head);
	i64 n = tw_sys(__NR_read, fd, p->head, HEAD_BYTES);
	tw_sys(__NR_close, fd, 0, 0);
	return n;
}

/* The program is a script: replaces it with its interpreter, which is also put before argv. */
static i64 resolve_script(struct plan_exec *p, u32 level, i64 argc)
{
	char *s = p->head + 2, *name, *arg = NULL;
	bool whole = strlen(p->head) < HEAD_BYTES; /* else what it ends with may be half a name */
	for (char *c = p->head; *c; c++) {
		if (*c == '\n') {
			*c = 0;
			whole = true;
		}
	}
	while (*s == ' ' || *s == '\t')
		s++;
	name = s;
	while (*s && *s != ' ' && *s != '\t')
		s++;
	if (*s) {
		*s++ = 0;
		while (*s == ' ' || *s == '\t')
			s++;
		char *end = s + strlen(s);
		while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
			*--end = 0;
		arg = *s ? s : NULL;
	}
	if (!*name || (!whole && name + strlen(name) == p->head + HEAD_BYTES))
		return ERROR_NOEXEC;
	u32 shift = arg ? 2 : 1;
	if (argc + shift >= p->max_argv)
		return -7;
	memmove(&p->argv[1 + shift], &p->argv[1], (u64)(argc > 0 ? argc : 1) * 8);
	tw_format(p->script[level], sizeof p->script[level], "%s", level ? p->program : p->given);
	tw_format(p->program, sizeof p->program, "%s", name);
	tw_format(p->interpreter_arg[level], HEAD_BYTES, "%s", arg ? arg : "");
	/* argv[0] = interpreter; [its argument]; the script; the rest */
	p->argv[shift] = (u64)p->script[level];
	if (arg)
		p->argv[1] = (u64)p->interpreter_arg[level];
	p->argv[0] = (u64)p->program;
	return argc + shift + (argc == 0);
}

/* What the kernel makes of the file's segments. */
struct segments {
	bool whole;           /* there are some, and all can be read */
	bool place_of_engine; /* it is linked to stand where the engine is */
	char interpreter[4096];
};

static void look_at_segments(const struct plan_exec *p, struct segments *s)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)p->head;
	Elf64_Phdr ph;
	u32 n = 0;
	memset(s, 0, sizeof *s);
	if ((e->e_type != ET_EXEC && e->e_type != ET_DYN) || e->e_phentsize != sizeof ph || e->e_phnum > MAX_PHDRS)
		return;
	i64 fd = tw_sys(__NR_open, p->program, O_RDONLY | O_CLOEXEC, 0);
	for (; n < e->e_phnum && tw_sys4(__NR_pread64, fd, &ph, sizeof ph, e->e_phoff + n * sizeof ph) == sizeof ph; n++) {
		if (ph.p_type == PT_INTERP && ph.p_filesz < sizeof s->interpreter)
			tw_sys4(__NR_pread64, fd, s->interpreter, ph.p_filesz, ph.p_offset);
		s->whole |= ph.p_type == PT_LOAD;
		s->place_of_engine |= e->e_type == ET_EXEC && ph.p_type == PT_LOAD && tw_memory_is_engine(ph.p_vaddr, ph.p_memsz);
	}
	if (!tw_failed(fd))
		tw_sys(__NR_close, fd, 0, 0);
	s->whole &= n == e->e_phnum && (!s->interpreter[0] || !tw_failed(tw_sys(__NR_access, s->interpreter, 1 /* X_OK */, 0)));
}

/* Is memory that is both written and executed forbidden in the process, and in the next program too? (PR_GET_MDWE, Linux 6.3) */
static bool denies_made_code(void)
{
	enum { GET_MDWE = 66, REFUSES = 1, NOT_INHERITED = 2 };
	const i64 r = tw_sys6(__NR_prctl, GET_MDWE, 0, 0, 0, 0, 0);
	return !tw_failed(r) && (r & (REFUSES | NOT_INHERITED)) == REFUSES;
}

static bool changes_rights(const struct stat *st)
{
	const u32 euid = (u32)tw_sys(__NR_geteuid, 0, 0, 0), egid = (u32)tw_sys(__NR_getegid, 0, 0, 0);
	const u32 persona = (u32)tw_sys(__NR_personality, 0xffffffff, 0, 0);
	return tw_set_id_changes(st->st_mode, st->st_uid, st->st_gid, euid, egid, persona) != NULL;
}

/* Why the program cannot be followed; NULL: it can. */
static const char *why_native(const struct plan_exec *p, const struct segments *s)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)p->head;
	if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != EM_X86_64)
		return "it is not x86-64 ELF";
	if (changes_rights(&p->stat))
		return "it is set-uid or set-gid";
	if (tw_sys4(__NR_getxattr, p->program, "security.capability", NULL, 0) > 0)
		return "it has file capabilities";
	if (s->place_of_engine)
		return "it is linked to addresses that the engine needs";
	if (tw_process_traced())
		return "another recorded process, a debugger, traces the process, and would see the engine";
	if (!tw_channel_collector_alive(tw_engine.control) || tw_engine.control->failure)
		return "recording has stopped";
	if (denies_made_code())
		return "the process may not have writable and executable memory (PR_SET_MDWE), which the engine needs";
	if (!tw_process_reaches_engine())
		return "the process, as another user or in another root or namespace, cannot reach the collector or the engine";
	return NULL;
}

/*
 * Is the file open for writing? The kernel checks this before the arguments, which are unreadable here. (Before Linux
 * 6.8 it checks afterwards.)
 */
static bool is_busy(const char *program)
{
	return tw_sys(__NR_execve, program, ~0ull, 0) == -ETXTBSY;
}

/* Is the program, or a script on the way to it? */
static bool any_busy(const struct plan_exec *p, u32 scripts)
{
	for (u32 k = 0; k < scripts; k++)
		if (is_busy(p->script[k]))
			return true;
	return is_busy(p->program);
}

static bool closes_on_exec(int fd)
{
	i64 r = tw_sys(__NR_fcntl, fd, F_GETFD, 0);
	return !tw_failed(r) && (r & FD_CLOEXEC);
}

/* Resolves the program through scripts. 1: the engine can run it; 0: the kernel must report the error; or an error. */
static i64 resolve(struct plan_exec *p, i64 argc, int dirfd, const char **why)
{
	struct segments s;
	tw_format(p->name, sizeof p->name, "%s", tw_base_name(p->program));
	for (u32 level = 0; level <= MAX_SCRIPTS; level++) {
		i64 n = read_head(p);
		if (tw_failed(n) || tw_failed(tw_sys(__NR_access, p->program, 1, 0)))
			return 0;
		if (p->head[0] != '#' || p->head[1] != '!') {
			look_at_segments(p, &s);
			*why = why_native(p, &s);
			return *why || !s.whole ? 0 : any_busy(p, level) ? -ETXTBSY : 1;
		}
		if (level == MAX_SCRIPTS || (tw_starts_with(p->given, "/dev/fd/") && dirfd != AT_FDCWD && closes_on_exec(dirfd)))
			return 0;
		argc = resolve_script(p, level, argc);
		if (argc < 0)
			return 0;
	}
	return 0;
}

/*
 * Executes the program, by execve or execveat, with the signal mask and pending signals that the new program must
 * find. A signal that comes before the kernel has begun is delivered first (TW_SYSCALL_ABORTED); a later one belongs
 * to the new program.
 */
static i64 execute(struct thread *t, u64 nr, const u64 *a)
{
	const u64 regs[TW_NREGS] = {[TW_RAX] = nr, [TW_RDI] = a[0], [TW_RSI] = a[1], [TW_RDX] = a[2], [TW_R10] = a[3], [TW_R8] = a[4]};
	tw_action_tell_ignored(t, true);
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &t->signal->mask, NULL, 8);
	tw_pending_requeue(t);
	i64 r = tw_app_syscall(t, regs);
	tw_action_tell_ignored(t, false);
	tw_signal_set_mask(t, t->signal->mask);
	return r;
}

static i64 run(struct thread *t, struct plan_exec *p, u64 envp)
{
	if (t->has_deferred)
		return TW_SYSCALL_ABORTED; /* before anything is given up */
	i64 n = copy_pointers(p->envp + 2, envp, p->max_envp - 2);
	i64 filters = n < 0 ? n : tw_seccomp_tell(t);
	if (n < 0 || filters < -1)
		return filters;
	tw_format(p->environment[0], sizeof p->environment[0], TW_ENV_CHANNEL "%s", tw_engine.channel_path);
	if (filters >= 0)
		tw_format(p->environment[0], sizeof p->environment[0], TW_ENV_CHANNEL "%s:%d", tw_engine.channel_path, (int)filters);
	p->envp[0] = (u64)p->environment[0];
	p->envp[1] = (u64)p->environment[1];
	tw_snapshot_leave(t);
	tw_buffer_event(t, TW_EVENT_EXEC, p->program, (u32)strlen(p->program) + 1, NULL, 0);
	tw_slot_promise(t, t->pid, t->pid);
	tw_format(p->environment[1], sizeof p->environment[1], TW_ENV_PROGRAM "%lx:%x/%s/%s", (unsigned long)t->signal->actions->sig_ign,
	          t->record->promised, p->name, p->program);
	tw_recording_end(t, 0, TW_ENDED_EXEC);
	const u64 a[5] = {(u64)tw_kernel.engine_path, (u64)p->argv, (u64)p->envp};
	i64 r = execute(t, __NR_execve, a);
	if (filters >= 0)
		tw_sys(__NR_close, filters, 0, 0);
	tw_recording_begin(t, t->pid, t->tid);
	return r;
}

static void tell_native(struct thread *t, const char *why)
{
	static const struct tw_gap gap = {TW_GAP_WITHIN, 0};
	char text[256];
	tw_format(text, sizeof text, "a program was executed natively, unrecorded: %s", why);
	tw_buffer_event(t, TW_EVENT_GAP, &gap, sizeof gap, text, (u32)strlen(text) + 1);
}

/* Natively: the kernel reports any error; without an error, the program runs unrecorded. */
static i64 run_natively(struct thread *t, int dirfd, u64 path, u64 argv, u64 envp, int flags)
{
	const char *exe = tw_process_exe(dirfd, path);
	if (t->kernel->seccomp.filter) {
		/* The engine cannot continue under the filters, so errors that can be found without them come first. */
		i64 r = flags & AT_EMPTY_PATH ? 0 : tw_sys(__NR_faccessat, dirfd, path, 1 /* X_OK */);
		r = r ? r : tw_seccomp_make_real(&t->kernel->seccomp);
		if (r)
			return r;
	}
	const u64 plain[5] = {exe ? (u64)exe : path, argv, envp}, at[5] = {(u64)(i64)dirfd, plain[0], argv, envp, (u64)flags};
	tw_ask_close(t);
	tw_limits_leave();
	/* A tracer may look which. */
	i64 r = dirfd == AT_FDCWD && !flags ? execute(t, __NR_execve, plain) : execute(t, __NR_execveat, at);
	tw_limits_return();
	tw_ask_open(t);
	return r;
}

/* Does the kernel refuse these flags with this path? */
static bool refuses_flags(int dirfd, u64 path, int flags)
{
	struct stat st;
	return (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)) ||
	       ((flags & AT_SYMLINK_NOFOLLOW) && !tw_failed(tw_sys4(__NR_newfstatat, dirfd, path, &st, flags)) &&
	        (st.st_mode & S_IFMT) == S_IFLNK);
}

i64 tw_exec(struct thread *t, int dirfd, u64 path, u64 argv, u64 envp, int flags)
{
	struct plan_exec *p = t->record->unfollowed || refuses_flags(dirfd, path, flags) ? NULL : new_plan(argv, envp);
	if (!p) /* the kernel has the error, if there is one */
		return run_natively(t, dirfd, path, argv, envp, flags);
	i64 r = absolute(p, dirfd, path, flags);
	i64 argc = r ? r : copy_pointers(p->argv, argv, p->max_argv);
	const char *why = NULL;
	const i64 known = argc < 0 ? 0 : resolve(p, argc, dirfd, &why);
	if (known > 0) {
		r = run(t, p, envp);
	} else if (known < 0) {
		r = known;
	} else {
		if (why && p->head[0] == 0x7f)
			tell_native(t, why);
		r = run_natively(t, dirfd, path, argv, envp, flags);
	}
	tw_sys(__NR_munmap, p, p->bytes, 0);
	return r;
}
