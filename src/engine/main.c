/*
 * The engine's start: from the kernel's stack to the program's first instruction under the engine.
 */
#include "engine/record/buffer.h"
#include "engine/signal/action.h"
#include "engine/engine.h"
#include "engine/heap.h"
#include "engine/code/translations.h"
#include "engine/kernel/attach.h"
#include "engine/kernel/clone.h"
#include "engine/kernel/identity.h"
#include "engine/kernel/leave.h"
#include "engine/kernel/limits.h"
#include "engine/kernel/loader.h"
#include "engine/kernel/mlock.h"
#include "engine/code/memory.h"
#include "engine/kernel/process.h"
#include "engine/kernel/seccomp.h"
#include "engine/signal/signal.h"
#include "engine/code/snapshot.h"
#include "engine/thread.h"
#include "engine/record/calls.h"
#include "engine/record/window.h"
#include "engine/x86_64/decode.h"
#include "engine/x86_64/glue.h"
#include "engine/record/instrumentor.h"
#include "engine/record/recording.h"
#include "engine/record/program.h"
#include <asm/prctl.h>
#include <linux/sched.h>
#include <asm/stat.h>
#include <asm/unistd.h>
#include <elf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/personality.h>
#include <linux/prctl.h>
#include <linux/resource.h>

static TW_SPARSE struct tw_control no_channel; /* stands in until the channel is mapped */

static struct start parse_stack(u64 *sp)
{
	struct start s = {0};
	s.sp = (u64)sp;
	s.argc = *sp;
	s.argv = (char **)(sp + 1);
	s.envp = s.argv + s.argc + 1;
	char **e = s.envp;
	while (*e)
		e++;
	s.auxv = (Elf64_auxv_t *)(e + 1);
	return s;
}

/* The recorder's information, in the engine's two variables. */
struct told {
	char *channel;
	char *ignored;            /* signals that it ignores, and the slot reserved for it; "": not given */
	char *name, *program;     /* what the process is to be called, and what it is to run; or... */
	struct tw_attach *attach; /* ...the process that there is already */
};

/* Length of what precedes a slash: signals with the slot, and the name of the process, which contains none. */
static u64 name_length(const char *s)
{
	u64 n = 0;
	while (s[n] && s[n] != '/')
		n++;
	return n;
}

/* Written in hexadecimal, to the end or to a colon. */
static u64 number_in(const char *s)
{
	u64 n = 0;
	for (; *s && *s != ':'; s++)
		n = n << 4 | (u64)(*s <= '9' ? *s - '0' : *s - 'a' + 10);
	return n;
}

/* What stands behind a colon. */
static const char *behind_colon(const char *s)
{
	while (*s && *s++ != ':')
		;
	return s;
}

/* The engine's two variables are the first two: removes them by moving what precedes them up over them. */
static bool take_variables(struct start *s, struct told *told)
{
	if (!s->envp[0] || !s->envp[1] || !tw_starts_with(s->envp[0], TW_ENV_CHANNEL))
		return false;
	told->channel = s->envp[0] + strlen(TW_ENV_CHANNEL);
	if (tw_starts_with(s->envp[1], TW_ENV_ATTACH)) {
		told->attach = (struct tw_attach *)number_in(s->envp[1] + strlen(TW_ENV_ATTACH));
		told->program = (char *)told->attach->program;
		return true;
	}
	if (!tw_starts_with(s->envp[1], TW_ENV_PROGRAM))
		return false;
	told->ignored = s->envp[1] + strlen(TW_ENV_PROGRAM);
	told->name = told->ignored + name_length(told->ignored) + 1;
	told->program = told->name + name_length(told->name) + 1;
	s->own_bytes = strlen(s->envp[0]) + 1 + strlen(s->envp[1]) + 1;
	u64 words = 1 + s->argc + 1;
	memmove((u64 *)s->sp + 2, (u64 *)s->sp, words * 8);
	s->sp += 16;
	s->argv += 2;
	s->envp += 2;
	return true;
}

static u64 auxv_get(const struct start *s, u64 type)
{
	for (Elf64_auxv_t *a = s->auxv; a->a_type; a++)
		if (a->a_type == type)
			return a->a_un.a_val;
	return 0;
}

static void auxv_set(const struct start *s, u64 type, u64 value)
{
	for (Elf64_auxv_t *a = s->auxv; a->a_type; a++)
		if (a->a_type == type)
			a->a_un.a_val = value;
}

static struct tw_attach *attached; /* the process was already running; NULL: it starts here */
static struct tw_seccomp inherited;

/* What the kernel was asked to execute: it can be asked again, before anything of the application has run. */
static const struct start *asked;
static char asked_program[4200];

/* Returns if that is not possible. */
static void run_natively(void)
{
	if (!asked || tw_seccomp_make_real(&inherited))
		return;
	tw_limits_leave();
	tw_sys(__NR_execve, asked_program, asked->argv, asked->envp);
}

/* Does the recorder already have a program that started? Then this is one that was executed later. */
static bool is_later(void)
{
	return tw_engine.control->next_thread != 0;
}

/*
 * The program cannot run here, and nothing of it has run: one sentence. A process that was attached to continues
 * without the engine; what a recorded program has executed runs natively; the first program does not run, and ends
 * with the status that `trackway record` knows for this.
 */
static void give_up(const char *what, const char *about, i64 error)
{
	if (attached) {
		tw_format(attached->failure, sizeof attached->failure, "%s %s (error %ld)", what, about, (long)-error);
		tw_attach_fail();
	}
	tw_print("trackway: %s %s (error %ld)%s\n", what, about, (long)-error, is_later() ? ": it runs natively, unrecorded" : "");
	if (is_later())
		run_natively();
	tw_sys(__NR_exit_group, 125, 0, 0);
}

/* The file descriptor of seccomp filters after the channel's path, if there is one: removes it. */
static void take_filters(char *channel)
{
	char *c = channel;
	int fd = 0;
	while (*c && *c != ':')
		c++;
	if (!*c)
		return;
	for (*c++ = 0; *c; c++)
		fd = fd * 10 + *c - '0';
	tw_seccomp_inherit(&inherited, fd);
}

/* Opens the collector's channel. When the collector has died since this program was executed, the program runs natively. */
static int open_channel(const char *path)
{
	i64 fd = tw_sys(__NR_open, path, O_RDWR | O_CLOEXEC, 0);
	if (tw_failed(fd)) {
		if (!attached)
			run_natively();
		give_up("cannot open the collector's channel", path, fd);
	}
	return (int)fd;
}

/* How much is to be mapped, and whether a program has started before: from the head of the control block. */
static void read_start(int fd)
{
	const i64 n = offsetof(struct tw_control, next_thread) + sizeof no_channel.next_thread;
	if (tw_sys4(__NR_pread64, fd, &no_channel, n, 0) != n || no_channel.magic != TW_CHANNEL_MAGIC ||
	    no_channel.version != TW_CHANNEL_VERSION)
		give_up("this engine is of another version than", "the trackway that started it", 0);
}

static void map_channel(const char *path, int fd)
{
	read_start(fd);
	const u64 bytes = tw_mapped_at_once(&no_channel);
	/* Where neither programs nor the kernel place anything, since it is large. */
	i64 at = tw_mmap(CHANNEL_PLACE, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
	if (tw_failed(at))
		at = tw_mmap(0, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (tw_failed(at))
		give_up("cannot map the collector's channel", path, at);
	tw_sys(__NR_madvise, at, bytes, MADV_DONTDUMP);
	i64 r = tw_sys(__NR_mprotect, at, no_channel.sizes.slots_at, PROT_READ | PROT_WRITE);
	if (tw_failed(r))
		give_up("cannot map the collector's channel", path, r);
	struct tw_control *c = (struct tw_control *)at;
	tw_engine.channel = (void *)at;
	tw_engine.control = c;
	struct stat st;
	tw_engine.channel_inode = tw_failed(tw_sys(__NR_fstat, fd, &st, 0)) ? 0 : st.st_ino;
	tw_sys(__NR_close, fd, 0, 0);
	tw_format(tw_engine.channel_paths[0], sizeof tw_engine.channel_paths[0], "%s", path);
	tw_engine.channel_path = tw_engine.channel_paths[0];
}

static void read_cpu(const struct start *s)
{
	u32 eax = 0xd, ebx, ecx = 0, edx, lo, hi;
	__asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	eax = 0;
	u32 size = ebx;
	__asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "=c"(ecx), "=d"(edx));
	tw_engine.fast_loop = tw_engine.is_amd = ebx == 0x68747541 || ebx == 0x6f677948; /* "Auth"enticAMD, "Hygo"nGenuine */
	tw_engine.xsave_size = size;
	tw_engine.xcr0 = (u64)hi << 32 | lo;
	tw_engine.fsgsbase = auxv_get(s, AT_HWCAP2) & 2;
}

static void remember_engine(void)
{
	i64 n = tw_sys(__NR_readlink, "/proc/self/exe", tw_kernel.engine_path, sizeof tw_kernel.engine_path - 1);
	tw_kernel.engine_path[n > 0 ? n : 0] = 0;
}

static void remember_program(const char *program)
{
	char link[48];
	i64 fd = tw_sys(__NR_open, program, O_PATH | O_CLOEXEC, 0);
	tw_format(link, sizeof link, "/proc/self/fd/%d", (int)fd);
	i64 n = tw_failed(fd) ? -1 : tw_sys(__NR_readlink, link, tw_engine.program_path, sizeof tw_engine.program_path - 1);
	if (n > 0)
		tw_engine.program_path[n] = 0;
	else
		tw_format(tw_engine.program_path, sizeof tw_engine.program_path, "%s", program);
	tw_sys(__NR_close, fd, 0, 0);
}

static u64 vdso;

/* The vDSO is application code like any other, only placed by the kernel. */
static void note_vdso(u64 ehdr)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)ehdr;
	if (!ehdr)
		return;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(ehdr + eh->e_phoff);
	for (int i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			tw_memory_protected(ehdr & ~4095ull, ph[i].p_memsz, PROT_READ | PROT_EXEC);
	vdso = ehdr;
}

static void tell_vdso(struct thread *t)
{
	struct tw_map m = {vdso & ~4095ull, 8192, 0, PROT_READ | PROT_EXEC, MAP_PRIVATE};
	static const char name[] = "[vdso]";
	if (vdso)
		tw_buffer_event(t, TW_EVENT_MAP, &m, sizeof m, name, sizeof name);
}

/* The end of the stack. The file's name is the last thing in it, before 8 bytes. */
static u64 stack_end(const struct start *s)
{
	const char *name = (const char *)auxv_get(s, AT_EXECFN);
	return tw_page_up((u64)name + strlen(name) + 1 + 8);
}

/* Including what it may grow to, if that is limited. */
static void tell_stack(struct thread *t, u64 end)
{
	enum { MOST = 128 << 20 }; /* the kernel leaves at least this much room for it */
	static const char name[] = "[stack]";
	u64 limit[2] = {MOST, 0};
	if (tw_sys4(__NR_prlimit64, 0, RLIMIT_STACK, 0, limit) || limit[0] > MOST)
		limit[0] = MOST;
	struct tw_map m = {end - (limit[0] & ~(u64)(TW_PAGE - 1)), limit[0] & ~(u64)(TW_PAGE - 1), 0, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN};
	tw_buffer_event(t, TW_EVENT_MAP, &m, sizeof m, name, sizeof name);
}

/* As far as the kernel has filled it, and what it grows to. */
static void make_stack_executable(const struct start *s)
{
	u64 page = s->sp & ~(u64)(TW_PAGE - 1), end = stack_end(s);
	int prot = PROT_READ | PROT_WRITE | PROT_EXEC;
	if (!tw_failed(tw_sys(__NR_mprotect, page, end - page, prot | PROT_GROWSDOWN)))
		tw_memory_stack_protected(end, prot);
}

static void set_auxv(const struct start *s, const struct loaded *l, const char *program)
{
	auxv_set(s, AT_PHDR, l->phdr);
	auxv_set(s, AT_PHNUM, l->phnum);
	auxv_set(s, AT_PHENT, l->phent);
	auxv_set(s, AT_ENTRY, l->program_entry);
	auxv_set(s, AT_BASE, l->interpreter_base);
	auxv_set(s, AT_EXECFN, (u64)program);
}

/*
 * brk: after a non-relocatable program, as natively, and right after it if addresses are not to be random: programs
 * that were saved with their heap, such as GNU Common Lisp's, continue it there. For a position-independent one,
 * where the kernel would have put it: far from everything.
 */
static u64 brk_place(const struct loaded *l)
{
	const bool random = !(tw_sys(__NR_personality, 0xffffffff, 0, 0) & ADDR_NO_RANDOMIZE);
	return l->pie ? BRK_PLACE : l->end + (random ? 16 * TW_PAGE : 0);
}

static bool is_real_time(i64 policy)
{
	policy &= ~(i64)SCHED_RESET_ON_FORK;
	return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
}

/* Loads the program, and makes the process look as if it had started with it. */
static void load(struct start *s, const char *program, struct loaded *l)
{
	static char name[4200]; /* `program` stands where arguments are about to */
	i64 r = tw_load_program(program, l);
	if (r)
		give_up("cannot load", program, r);
	if (l->executable_stack)
		make_stack_executable(s);
	tw_format(name, sizeof name, "%s", program);
	set_auxv(s, l, name);
	const u64 brk = brk_place(l);
	tw_memory_brk_init(brk);
	tw_identity_tell(s, l, brk);
	tw_translator.program_entry = l->program_entry;
	tw_snapshot_take(s->argv);
}

/*
 * A process that starts with few translations, all it needs, uses a page or two of each of the engine's tables; one
 * that makes its own uses many.
 */
static void make_room_for_tables(void)
{
	enum { FEW = 20000 };
	if (!tw_translations.n_host || tw_translations.n_host >= FEW)
		tw_heap_sparse();
}

static void make_room_for_threads(void)
{
	make_room_for_tables();
	if (!tw_threads_init())
		give_up("no room for threads of", tw_engine.program_path, 0);
	tw_limits_fill();
}

/* Runs a program from its first instruction on. */
static void run_program(struct start *s, const struct told *told)
{
	const u64 all = ~0ull;
	const u64 stack = stack_end(s);
	struct loaded l;
	remember_engine();
	remember_program(told->program);
	told->ignored[name_length(told->ignored)] = 0;
	told->name[name_length(told->name)] = 0;
	const u64 ignored = number_in(told->ignored);
	const u32 slot = (u32)number_in(behind_colon(told->ignored));
	const bool says_ignored = *told->ignored; /* load writes over what the variables held */
	tw_sys(__NR_prctl, PR_SET_NAME, told->name, 0);
	load(s, told->program, &l);
	make_room_for_threads();
	struct thread *t = tw_thread_new();
	if (!t)
		give_up("no room for threads of", tw_engine.program_path, 0);
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, &t->signal->mask, 8);
	tw_action_init(tw_signal_handler, says_ignored ? &ignored : NULL);
	tw_thread_adopt(t);
	tw_engine.pid = t->pid;
	tw_engine.n_threads = 1;
	t->kernel->seccomp = inherited;
	t->regs[TW_RSP] = s->sp;
	t->pc = l.entry;
	if (says_ignored)
		t->record->promised = slot;
	tw_recording_begin(t, (u32)tw_sys(__NR_getppid, 0, 0, 0), 0);
	tw_process_tell_program(t, s->argv);
	tw_load_tell(t);
	tell_vdso(t);
	tell_stack(t, stack);
	tw_signal_set_mask(t, t->signal->mask);
	tw_resume_cache();
}

/* Takes a process that runs already. */
static void take_process(const struct start *s, struct tw_attach *a)
{
	tw_format(tw_kernel.engine_path, sizeof tw_kernel.engine_path, "%s", (const char *)a->engine);
	tw_format(tw_engine.program_path, sizeof tw_engine.program_path, "%s", (const char *)a->program);
	tw_translator.filtered = tw_sys(__NR_prctl, PR_GET_SECCOMP, 0, 0) != 0;
	tw_attach_memory(a);
	tw_mlock_found(a->lock_later);
	make_room_for_threads();
	if (!tw_attach_threads(a))
		give_up("no room for the threads of", tw_engine.program_path, 0);
	tw_action_init(tw_signal_handler, NULL);
	tw_attach_begin(a, s->argv);
}

void tw_main(u64 *sp);

void tw_main(u64 *sp)
{
	static struct tw_record_thread nothing;
	static struct thread nobody = {.lock_name = TW_LOCK_POLLS, .record = &nothing}; /* takes locks while there is no thread */
	struct start s = parse_stack(sp);
	struct told told = {0};
	tw_engine.control = &no_channel;
	tw_sys(__NR_arch_prctl, ARCH_SET_GS, &nobody, 0);
	if (is_real_time(tw_sys(__NR_sched_getscheduler, 0, 0, 0)))
		tw_lock_inherit();
	if (!take_variables(&s, &told))
		give_up("this is the engine; it is started by", "'trackway record'", 0);
	attached = told.attach;
	take_filters(told.channel);
	if (!attached) {
		tw_format(asked_program, sizeof asked_program, "%s", told.program);
		asked = &s;
	}
	map_channel(told.channel, open_channel(told.channel));
	tw_recorder.instr = tw_instrument_find(tw_engine.control->format);
	tw_window_init(&tw_instrument_none, &tw_instrument_count);
	tw_calls_init();
	tw_recorder.verify = (tw_engine.control->flags & TW_FLAG_VERIFY) != 0;
	tw_leave_tell();
	read_cpu(&s);
	tw_program_init();
	if (!tw_translations_init())
		give_up("no room for translations of", told.program, 0);
	tw_decode_init();
	note_vdso(auxv_get(&s, AT_SYSINFO_EHDR));
	if (attached)
		take_process(&s, attached);
	else
		run_program(&s, &told);
}
