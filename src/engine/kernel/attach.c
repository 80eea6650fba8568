#include "engine/kernel/attach.h"
#include "base/timed_call.h"
#include "engine/code/memory.h"
#include "engine/code/shared.h"
#include "engine/kernel/clone.h"
#include "engine/kernel/process.h"
#include "engine/kernel/rseq.h"
#include "engine/kernel/syscall.h"
#include "engine/record/buffer.h"
#include "engine/record/spare.h"
#include "engine/record/stack.h"
#include "engine/record/calls.h"
#include "engine/record/told.h"
#include "engine/record/window.h"
#include "engine/record/recording.h"
#include "engine/signal/signal.h"
#include "engine/x86_64/glue.h"
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/time_types.h>

#define ERROR_EINTR (-4)

static const struct tw_attach_map *map_at(const struct tw_attach *a, u64 k)
{
	return (const struct tw_attach_map *)a->map + k;
}

void tw_attach_memory(const struct tw_attach *a)
{
	for (u64 k = 0; k < a->n_maps; k++) {
		const struct tw_attach_map *m = map_at(a, k);
		const bool shared = (m->flags & MAP_TYPE) == MAP_SHARED && (m->prot & PROT_WRITE);
		if (!(m->prot & PROT_EXEC) && !shared)
			continue;
		if (m->flags & MAP_GROWSDOWN)
			tw_memory_stack_protected(m->end, (int)m->prot);
		else
			tw_memory_protected(m->start, m->end - m->start, (int)m->prot);
		if ((m->flags & MAP_TYPE) == MAP_SHARED)
			tw_shared_found(m->start, m->end, (int)m->prot, m->offset, m->device, m->inode);
	}
	tw_memory_brk_keep();
}

/* ---- threads ---- */

static void begin(struct thread *t) __attribute__((noreturn));

static void fill(struct thread *t, const struct tw_attach_thread *from)
{
	memcpy(t->regs, from->regs, sizeof t->regs);
	t->pc = from->pc;
	t->flags = from->flags;
	t->app_gs = from->gs;
	t->tid = from->tid;
	t->signal->mask = from->mask;
	t->kernel->found = (struct tw_found){
	    .call = from->call,
	    .waited_ms = from->waited_ms,
	    .rseq = from->rseq,
	    .rseq_bytes = from->rseq_bytes,
	    .rseq_signature = from->rseq_signature,
	};
	tw_translator.gs_used |= from->gs != 0;
}

static struct tw_attach_thread *thread_at(const struct tw_attach *a, u64 k)
{
	return (struct tw_attach_thread *)a->thread + k;
}

bool tw_attach_threads(struct tw_attach *a)
{
	for (u64 k = 0; k < a->n_threads; k++) {
		struct thread *t = tw_thread_new();
		if (!t || (tw_tallies() && !tw_spare_own(t)))
			return false;
		fill(t, thread_at(a, k));
		thread_at(a, k)->block = (u64)t;
		thread_at(a, k)->stack = t->stack_top - 8; /* as if it had been called */
	}
	tw_engine.n_threads = (u32)a->n_threads;
	tw_engine.pid = (u32)tw_sys(__NR_getpid, 0, 0, 0);
	a->entry = (u64)begin;
	tw_rseq_allow();
	return true;
}

static void take_altstack(struct thread *t)
{
	stack_t ss;
	tw_sys(__NR_sigaltstack, NULL, &ss, 0);
	if (ss.ss_flags & SS_DISABLE)
		return;
	t->signal->altstack.sp = (u64)ss.ss_sp;
	t->signal->altstack.size = ss.ss_size;
	t->signal->altstack.flags = (u32)ss.ss_flags & SS_AUTODISARM_BIT;
}

/* The calling thread is this one from now on. */
static void become(struct thread *t, u32 parent_pid, u32 parent_tid)
{
	take_altstack(t);
	tw_thread_adopt(t);
	tw_rseq_register(t, false);
	tw_thread_read_fs(t);
	tw_recording_begin(t, parent_pid, parent_tid);
	tw_stack_tell(t);
}

/* ---- the call that was broken off ---- */

/* The new value of the register that says how long the call waits: `ms` less. *left: room for what it may point to. */
static u64 shortened(const struct thread *t, const struct tw_timed_call *time, u64 ms, struct __kernel_timespec *left)
{
	const u64 now = t->regs[time->reg];
	if (time->in_ms)
		return (u64)tw_timed_less((i32)now, ms);
	if (!now || !tw_copy(left, (void *)now, sizeof *left) || left->tv_sec < 0 || left->tv_sec > 1ll << 32)
		return now;
	const i64 ns = tw_timed_less(left->tv_sec * 1000000000 + left->tv_nsec, ms * 1000000);
	*left = (struct __kernel_timespec){ns / 1000000000, ns % 1000000000};
	return (u64)left;
}

/* Makes the call again that ends at t->pc; it has waited already. False: a signal came first. */
static bool make_rest(struct thread *t)
{
	const u64 behind = t->pc;
	struct tw_found *f = &t->kernel->found;
	const struct tw_timed_call *time = f->call == TW_ATTACH_IF_QUIET ? tw_timed_find(t->regs[TW_RAX]) : NULL;
	struct __kernel_timespec left;
	f->shorter = time != NULL;
	if (time) {
		f->reg = time->reg;
		f->as_given = t->regs[time->reg];
		t->regs[time->reg] = shortened(t, time, f->waited_ms, &left);
	}
	if (f->call == TW_ATTACH_REST)
		t->regs[TW_RAX] = __NR_restart_syscall;
	tw_syscall(t);
	if (time)
		t->regs[time->reg] = f->as_given;
	f->shorter = false;
	return t->pc == behind;
}

/* A signal came before the call was made again: the call is repeated after the handler, or ends. */
static void break_off(struct thread *t, u64 number, u64 behind)
{
	const u32 call = t->kernel->found.call;
	const struct ksigaction *a = &t->signal->actions->of[t->signal->deferred.signo];
	const bool again =
	    !t->signal->deferred.signo || call == TW_ATTACH_AGAIN || (call == TW_ATTACH_IF_RESTART && (a->flags & SA_RESTART));
	t->pc = again ? behind - TW_SYSCALL_BYTES : behind;
	t->regs[TW_RAX] = again ? number : (u64)ERROR_EINTR;
}

static void finish_call(struct thread *t)
{
	const u64 number = t->regs[TW_RAX], behind = t->pc;
	if (t->kernel->found.call == TW_ATTACH_NO_CALL)
		return;
	if (t->has_deferred || !make_rest(t))
		break_off(t, number, behind);
}

static void __attribute__((noreturn)) go_on(struct thread *t)
{
	tw_signal_set_mask(t, t->signal->mask);
	finish_call(t);
	tw_resume_cache();
}

void tw_attach_again(struct thread *t)
{
	t->kernel->found.call = TW_ATTACH_NO_CALL;
	become(t, t->pid, t->pid);
	go_on(t);
}

static void begin(struct thread *t)
{
	become(t, tw_engine.pid, tw_engine.pid);
	go_on(t);
}

/* ---- the first ---- */

static void tell_memory(struct thread *t, const struct tw_attach *a)
{
	for (u64 k = 0; k < a->n_maps; k++) {
		const struct tw_attach_map *m = map_at(a, k);
		const char *path = (const char *)m->path;
		const struct tw_map e = {m->start, m->end - m->start, m->offset, m->prot, m->flags};
		tw_buffer_event(t, TW_EVENT_MAP, &e, sizeof e, path, (u32)strlen(path) + 1);
		if (!(m->prot & PROT_EXEC))
			continue;
		tw_window_mapped(path, m->start, m->end - m->start, m->offset);
		tw_calls_mapped(path, m->start, m->end - m->start, m->offset);
		tw_told_mapped(path, m->start, m->end - m->start, m->offset);
	}
}

static void tell_threads(struct thread *t, const struct tw_attach *a)
{
	for (u64 k = 1; k < a->n_threads; k++) {
		struct tw_fork e = {t->pid, thread_at(a, k)->tid, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, 1, 0, tw_buffer_time(t)};
		tw_buffer_event(t, TW_EVENT_FORK, &e, sizeof e, NULL, 0);
	}
}

static void say(u64 word)
{
	tw_sys(TW_ATTACH_CALL, TW_ATTACH_SAYS, word, 0);
}

void tw_attach_begin(const struct tw_attach *a, char *const *argv)
{
	struct thread *t = (struct thread *)thread_at(a, 0)->block;
	become(t, (u32)tw_sys(__NR_getppid, 0, 0, 0), 0);
	tw_process_tell_program(t, argv);
	tell_memory(t, a);
	tell_threads(t, a);
	say(TW_ATTACH_DONE);
	tw_sys(__NR_munmap, a, a->bytes, 0);
	go_on(t);
}

void tw_attach_fail(void)
{
	for (;;)
		say(TW_ATTACH_FAILED);
}
