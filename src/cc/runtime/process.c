#include "runtime.h"
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <asm/signal.h>

__thread uint64_t trackway_cc_slot = TW_CC_POISON;
uint8_t trackway_cc_switch[TW_PAGE];

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
static void read_environment(struct tw_cc_process *p, bool *off)
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
				*off = true;
		}
		have = have - at < sizeof text - 1 ? have - at : 0;
		tw_cc_copy(text, text + at, have);
	}
	SYS(__NR_close, fd);
}

static bool open_channel(struct tw_cc_process *p)
{
	const int64_t fd = SYS(__NR_open, p->path, O_RDWR | O_CLOEXEC, 0);
	if (tw_cc_failed(fd))
		return false;
	const int64_t at = SYS(__NR_mmap, 0, TW_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	SYS(__NR_close, fd);
	p->control = tw_cc_failed(at) ? 0 : (struct tw_control *)at;
	return p->control && p->control->magic == TW_CHANNEL_MAGIC && p->control->version == TW_CHANNEL_VERSION &&
	       tw_form_of(p->control->format) == TW_FORM_PLAIN && p->control->format == TW_FORMAT_DEP &&
	       tw_channel_collector_alive(p->control);
}

static void find_mode(struct tw_cc_process *p)
{
	bool off = false;
	read_environment(p, &off);
	p->off = off;
	const int64_t n = SYS(__NR_readlink, "/proc/self/exe", p->file, sizeof p->file - 1);
	p->file[n > 0 ? n : 0] = 0;
	p->pid = (uint32_t)SYS(__NR_getpid);
	if (!off && p->path[0] && open_channel(p)) {
		p->program = atomic_fetch_add(&p->control->next_program, 1) + 1;
		p->mode = TW_CC_RECORDED;
	} else {
		p->mode = !off && tw_cc_batch_begin(p) ? TW_CC_RECORDED : TW_CC_SILENT;
	}
}

static struct tw_cc_process *map_process(void)
{
	const int64_t at = SYS(__NR_mmap, TW_CC_PLACE, sizeof(struct tw_cc_process), PROT_READ | PROT_WRITE,
	                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	struct tw_cc_process *p = (struct tw_cc_process *)TW_CC_PLACE;
	if ((uint64_t)at == TW_CC_PLACE) {
		p->version = TW_CC_VERSION;
		p->mark = TW_CC_MARK;
		return p;
	}
	return at == -17 && p->mark == TW_CC_MARK && p->version == TW_CC_VERSION ? p : 0;
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

uint64_t tw_cc_lock(struct tw_cc_process *p)
{
	const uint64_t all = ~0ull;
	uint64_t before;
	SYS(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
	while (__atomic_exchange_n(&p->lock, 1, __ATOMIC_ACQUIRE))
		SYS(__NR_sched_yield);
	return before;
}

void tw_cc_unlock(struct tw_cc_process *p, uint64_t mask)
{
	__atomic_store_n(&p->lock, 0, __ATOMIC_RELEASE);
	SYS(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, sizeof mask);
}

/* ---- threads ---- */

static uint64_t thread_pointer(void)
{
	uint64_t tp;
	__asm__("movq %%fs:0, %0" : "=r"(tp));
	return tp;
}

static uint32_t place_of(uint64_t tp)
{
	return (uint32_t)(tp * 0x9e3779b97f4a7c15ull >> 52);
}

/* The thread is known from here on. An entry of one that ended without a word, and had its place in memory, is given up. */
static struct tw_cc_thread *enter(struct tw_cc_process *p, struct tw_cc_thread *t, uint64_t tp, uint32_t tid)
{
	if (t->tp && p->batch && !p->batch_ended)
		tw_cc_batch_inherit(p, t);
	for (int k = 0; t->tp && k < TW_CC_DEPTHS; k++) {
		t->stream[k].active = 0;
		tw_cc_stream_forget(p, &t->stream[k]);
	}
	const bool is_first = tid == p->pid;
	*t = (struct tw_cc_thread){.tid = tid,
	                           .stack = t->stack,
	                           .alternate = t->alternate,
	                           .kept = t->kept,
	                           .parent_pid = is_first ? (p->parent_pid ? p->parent_pid : (uint32_t)SYS(__NR_getppid)) : p->pid,
	                           .parent_tid = is_first ? p->parent_tid : p->pid};
	__atomic_store_n(&t->tp, tp, __ATOMIC_RELEASE);
	return t;
}

/* Between vfork and exec a child runs in its parent's memory, as the thread that made it. */
static bool is_borrowed(const struct tw_cc_process *p)
{
	return (uint32_t)SYS(__NR_getpid) != p->pid;
}

struct tw_cc_thread *tw_cc_self(struct tw_cc_process *p, bool make)
{
	const uint64_t tp = thread_pointer();
	const uint32_t tid = (uint32_t)SYS(__NR_gettid);
	struct tw_cc_thread *found = 0;
	for (uint32_t k = 0; k < TW_CC_THREADS && !found; k++) {
		struct tw_cc_thread *t = &p->thread[(place_of(tp) + k) % TW_CC_THREADS];
		const uint64_t there = __atomic_load_n(&t->tp, __ATOMIC_ACQUIRE);
		if (there == tp && (t->tid == tid || is_borrowed(p)))
			return t;
		if (there == tp || !there)
			found = t;
	}
	if (!found || !make)
		return 0;
	const uint64_t mask = tw_cc_lock(p);
	if (found->tp && found->tp != tp)
		found = 0; /* another thread was quicker */
	else
		enter(p, found, tp, tid);
	tw_cc_unlock(p, mask);
	return found ? found : tw_cc_self(p, true);
}

/* ---- beginning ---- */

static uint64_t tell_program(struct tw_cc_process *p, uint64_t pointer)
{
	char text[TW_MAX_EVENT - 64];
	const uint64_t path = tw_cc_length(p->file) + 1;
	tw_cc_copy(text, p->file, path);
	const int fd = (int)SYS(__NR_open, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
	int64_t n = SYS(__NR_read, fd, text + path, sizeof text - path);
	SYS(__NR_close, fd);
	n = n > 0 ? n : 0;
	while (n && text[path + (uint64_t)n - 1])
		n--;
	struct tw_program_start e = {p->pid, 0, tw_cc_time()};
	for (int64_t k = 0; k < n; k++)
		e.n_args += !text[path + (uint64_t)k];
	return tw_cc_stream_event(pointer, TW_EVENT_PROGRAM, &e, sizeof e, text, (uint32_t)(path + (uint64_t)n));
}

/* ---- the C library's part, where there is one ---- */

extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso) __attribute__((weak));
extern int __cxa_thread_atexit_impl(void (*fn)(void *), void *arg, void *dso) __attribute__((weak));
extern int on_exit(int (*fn)(long, void *), void *arg) __attribute__((weak));
extern int srand48_r(long number, void *to) __attribute__((weak));
extern void *__dso_handle __attribute__((weak, visibility("hidden")));

/*
 * Ends the thread's streams. What handlers that were left had interrupted has no known end. No handler may run meanwhile: it would take up the stream whose
 * buffers are about to be unmapped, and leave its pointer in the slot.
 */
static void end_streams(struct tw_cc_process *p, struct tw_cc_thread *t, int32_t status, uint32_t what)
{
	const uint64_t mask = tw_cc_lock(p);
	for (uint32_t d = TW_CC_DEPTHS; d-- > 0;)
		if (d < t->depth)
			tw_cc_stream_abandon(p, &t->stream[d]);
		else
			tw_cc_stream_end(p, &t->stream[d], status, what);
	t->depth = 0;
	tw_cc_unlock(p, mask);
}

/* The thread ends. What it runs after this is of another stream. */
static void end_thread(void *unused)
{
	struct tw_cc_process *p = tw_cc_process();
	struct tw_cc_thread *t = tw_cc_self(p, false);
	(void)unused;
	if (t)
		end_streams(p, t, 0, TW_ENDED_THREAD);
}

static struct tw_cc_stream *begin(struct tw_cc_process *p, struct tw_cc_thread *t)
{
	struct tw_cc_stream *s = t->aside ? &t->quiet : &t->stream[t->depth];
	if (s->pointer)
		return s;
	const uint64_t mask = tw_cc_lock(p);
	tw_cc_stream_begin(p, t, s);
	if (!p->told && s->number != TW_SLOTS) {
		p->told = 1;
		uint64_t *pen = tw_cc_stream_pen(p, s);
		*pen = tell_program(p, *pen);
	}
	tw_cc_unlock(p, mask);
	if (p->guard && !t->depth && !t->aside)
		p->guard->thread(t);
	if (t->tid != p->pid && !t->depth && !t->aside && __cxa_thread_atexit_impl)
		__cxa_thread_atexit_impl(end_thread, 0, &__dso_handle);
	return s;
}

static bool is_described;

static void describe(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	const uint64_t mask = tw_cc_lock(p);
	if (!is_described && s->number != TW_SLOTS) {
		is_described = true;
		tw_cc_module_describe(p);
		uint64_t *pen = tw_cc_stream_pen(p, s);
		*pen = tw_cc_module_tell(*pen, (uint64_t)&tw_cc_module_tell);
	}
	tw_cc_unlock(p, mask);
}

/* ---- what instrumented code calls ---- */

/* `value`: what the code found in the slot, or had in the register. Returns where to write. */
uint64_t tw_cc_cold(uint64_t value, const uint64_t *regs)
{
	struct tw_cc_process *p = tw_cc_process();
	struct tw_cc_thread *t = tw_cc_self(p, true);
	struct tw_cc_stream *s = begin(p, t);
	uint64_t pointer = value;
	if (!is_described && p->mode == TW_CC_RECORDED && tw_cc_module_ready())
		describe(p, s);
	if (value == TW_CC_POISON)
		pointer = tw_cc_stream_take(p, s);
	s->active = &trackway_cc_slot;
	pointer = tw_cc_stream_settle(p, s, pointer);
	if (pointer & TW_CC_FULL)
		pointer = tw_cc_stream_switch(p, s, pointer, regs);
	if (s->upper != tw_cc_upper && s->number != TW_SLOTS) {
		const uint16_t change[2] = {TW_TAG_UPPER, (uint16_t)tw_cc_upper};
		s->upper = tw_cc_upper;
		tw_cc_copy((void *)pointer, change, sizeof change);
		pointer += sizeof change;
	}
	return pointer;
}

uint64_t tw_cc_checked(uint64_t value, uint64_t *regs, uint32_t reg);

/* `reg`: which register had it. Where that is borrowed the program's own value is what keyframes want. */
uint64_t tw_cc_checked(uint64_t value, uint64_t *regs, uint32_t reg)
{
	if (value & TW_CC_BORROWED)
		regs[reg] = tw_cc_read_word(trackway_cc_spill_at);
	return tw_cc_cold(value & ~TW_CC_BORROWED, regs);
}

void tw_cc_entered(uint64_t pc);

/* A second version is entered at pc, and the switch has another number than when this thread last did that. */
void tw_cc_entered(uint64_t pc)
{
	struct tw_cc_process *p = tw_cc_process();
	struct tw_cc_stream *s = begin(p, tw_cc_self(p, true));
	if (s->number != TW_SLOTS && p->switchable)
		tw_cc_stream_enter(p, s, pc);
}

/* ---- fork ---- */

static uint32_t forking_tid;

/* All modules have their functions called, each until it is closed: one does it for all. */
static bool forks_here(struct tw_cc_process *p)
{
	uint64_t nobody = 0;
	const uint64_t own = (uint64_t)&forking_tid;
	return __atomic_compare_exchange_n(&p->forks, &nobody, own, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) || nobody == own;
}

static void before_fork(void)
{
	struct tw_cc_process *p = (struct tw_cc_process *)TW_CC_PLACE;
	if (!forks_here(p))
		return;
	forking_tid = (uint32_t)SYS(__NR_gettid);
	if (p->batch)
		p->batch->before_fork();
}

static void in_parent(void)
{
	struct tw_cc_process *p = (struct tw_cc_process *)TW_CC_PLACE;
	if (forks_here(p) && p->batch)
		p->batch->after_fork(false);
}

static void in_child(void)
{
	struct tw_cc_process *p = (struct tw_cc_process *)TW_CC_PLACE;
	const uint64_t tp = thread_pointer();
	if (!forks_here(p))
		return;
	p->lock = 0;
	p->parent_pid = p->pid;
	p->parent_tid = forking_tid;
	p->pid = (uint32_t)SYS(__NR_getpid);
	for (uint32_t k = 0; k < TW_CC_THREADS; k++) {
		struct tw_cc_thread *t = &p->thread[k];
		for (int d = 0; t->tp && d < TW_CC_DEPTHS; d++) {
			if (t->tp != tp)
				t->stream[d].active = 0; /* memory of a thread that is not here */
			tw_cc_stream_forget(p, &t->stream[d]);
		}
		t->tp = 0;
		t->kept = 0;
	}
	if (p->batch) {
		tw_cc_batch_in_child(p);
		p->batch->after_fork(true);
	}
}

/*
 * Has the status that the process ends with noted. No function of this module can do that: a library may have been closed by then. The C library's srand48_r takes a number,
 * and puts it where its second argument says. The program's is registered last of those there are from the beginning on, and called before any destructor.
 */
static void note_ending(struct tw_cc_process *p)
{
	enum { MOST = 1000 }; /* of a program that opens and closes libraries on and on */
	if (on_exit && srand48_r && p->notes++ < MOST)
		on_exit(srand48_r, &p->ending);
}

/* The process ends, and nothing else does: modules are not closed. */
static bool is_ending(const struct tw_cc_process *p)
{
	return p->ending.is_there;
}

extern const struct tw_cc_word_place __start_trackway_cc_words[] __attribute__((weak, visibility("hidden")));
extern const struct tw_cc_word_place __stop_trackway_cc_words[] __attribute__((weak, visibility("hidden")));

static void enter_word(struct tw_cc_process *p, uint64_t own, bool there)
{
	for (uint32_t k = 0; k < TW_CC_WORDS; k++) {
		uint64_t from = there ? 0 : own;
		if (!__atomic_compare_exchange_n(&p->word[k], &from, there ? own : 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		for (uint32_t n = __atomic_load_n(&p->n_words, __ATOMIC_RELAXED); n <= k;)
			if (__atomic_compare_exchange_n(&p->n_words, &n, k + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				return;
		return;
	}
}

/* Handlers keep this module's words. */
static void enter_words(struct tw_cc_process *p, bool there)
{
	for (const struct tw_cc_word_place *w = __start_trackway_cc_words; w < __stop_trackway_cc_words; w++)
		enter_word(p, ((uint64_t(*)(void))((uint64_t)w + (uint64_t)(int64_t)w->at))() | w->flags, there);
}

/* A library that was loaded before had the process run silently, and the module with the batch routine is here now. Nothing is known of what ran before. */
static void begin_late(struct tw_cc_process *p)
{
	struct tw_cc_thread *t = tw_cc_self(p, false);
	if (!tw_cc_batch_begin(p))
		return;
	for (int d = 0; t && d < TW_CC_DEPTHS; d++)
		tw_cc_stream_forget(p, &t->stream[d]);
	p->mode = TW_CC_RECORDED;
}

extern const uint8_t __start_trackway_cc_twice[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __stop_trackway_cc_twice[] __attribute__((weak, visibility("hidden")));

/* The module's code, if it is in two versions, records as the collector says; with a batch routine, always. */
static void take_switch(struct tw_cc_process *p)
{
	p->switchable |= !p->batch && &__start_trackway_cc_twice[0] != &__stop_trackway_cc_twice[0];
	const int64_t fd = p->batch ? -1 : SYS(__NR_open, p->path, O_RDWR | O_CLOEXEC, 0);
	if (p->batch)
		trackway_cc_switch[0] = 1;
	else if (!tw_cc_failed(fd))
		SYS(__NR_mmap, trackway_cc_switch, TW_PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, TW_SWITCH_AT);
	SYS(__NR_close, fd);
	if (p->switchable)
		tw_cc_places_find(p);
}

extern const uint8_t __start_trackway_cc[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __stop_trackway_cc[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __start_trackway_cc_guarded[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __stop_trackway_cc_guarded[] __attribute__((weak, visibility("hidden")));

static bool is_guarded(void)
{
	return &trackway_cc_guard && &__start_trackway_cc_guarded[0] != &__stop_trackway_cc_guarded[0];
}

static void __attribute__((constructor(101))) start(void)
{
	struct tw_cc_process *p = tw_cc_process();
	enter_words(p, true);
	if (is_guarded())
		trackway_cc_guard.enter(p, __start_trackway_cc, __stop_trackway_cc);
	if (p->mode == TW_CC_SILENT && !p->off)
		begin_late(p);
	if (p->mode != TW_CC_RECORDED)
		return;
	if (__register_atfork)
		__register_atfork(before_fork, in_parent, in_child, &__dso_handle);
	note_ending(p);
	if (!tw_cc_module_ready())
		return;
	struct tw_cc_thread *t = tw_cc_self(p, true);
	take_switch(p);
	describe(p, begin(p, t));
}

/* A library is closed: no thread's pointer may stay in its slot, which is as far from each thread's place as from this one's. */
static void leave_module(struct tw_cc_process *p, const struct tw_cc_thread *own)
{
	const uint64_t offset = (uint64_t)&trackway_cc_slot - own->tp;
	for (uint32_t k = 0; k < TW_CC_THREADS; k++)
		for (int d = 0; p->thread[k].tp && d < TW_CC_DEPTHS; d++)
			if ((uint64_t)p->thread[k].stream[d].active == p->thread[k].tp + offset)
				tw_cc_stream_take(p, &p->thread[k].stream[d]);
}

/* The last of the program's own code has run. */
static void __attribute__((destructor(101))) finish(void)
{
	struct tw_cc_process *p = tw_cc_process();
	struct tw_cc_thread *t = tw_cc_self(p, false);
	if (!is_ending(p))
		enter_words(p, false);
	if (!is_ending(p) && is_guarded())
		trackway_cc_guard.leave(p);
	if (!is_ending(p))
		tw_cc_signals_leave(p);
	if (!is_ending(p) && p->forks == (uint64_t)&forking_tid)
		p->forks = 0;
	if (!t || p->mode != TW_CC_RECORDED)
		return;
	if (!is_ending(p) && !tw_cc_batch_is_own(p)) {
		leave_module(p, t);
		return;
	}
	end_streams(p, t, (p->ending.status & 0xff) << 8, t->tid == p->pid ? TW_ENDED_PROCESS : TW_ENDED_THREAD);
	tw_cc_batch_end(p, t);
}
