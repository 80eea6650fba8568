#include "engine/kernel/ptrace.h"
#include "engine/code/fragment.h"
#include "engine/kernel/process.h"
#include "engine/kernel/traced.h"
#include "engine/record/instrumentor.h"
#include "engine/record/timer.h"
#include "engine/signal/frame.h"
#include "engine/signal/signal.h"
#include "engine/thread.h"
#include "engine/x86_64/glue.h"
#include <asm/errno.h>
#include <asm/ptrace.h>
#include <asm/unistd.h>
#include <elf.h>
#include <linux/audit.h>
#include <linux/ptrace.h>
#include <linux/uio.h>
#include <linux/wait.h>

#define TRAP_GOOD (SIGTRAP | 0x80)

/* As the kernel shows them. */
struct shown {
	u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, flags, rsp, ss, fs_base, gs_base,
	    ds, es, fs, gs;
};

/* A stopped thread in which the engine runs. */
struct tracee {
	u32 tid;
	u64 at; /* its struct thread, in its memory */
	struct thread thread;
	struct tw_kernel_thread kernel;
	struct tw_signal_thread signal;
	struct shown real, shown;
	u64 context;  /* not 0: in the engine's handler of a signal that came in the cache; the struct tw_ucontext that replaces `real` */
	bool saved;   /* it is in the engine, on the engine's stack: its registers were saved when it left the cache */
	bool in_call; /* ... by a system call */
	bool at_call; /* it is in a stop that the engine made (traced.h), not in one of a signal delivered at once */
};

/* ---- its memory ---- */

static bool copy_from(u32 tid, void *to, u64 from, u64 n)
{
	const struct iovec here = {to, n}, there = {(void *)from, n};
	return tw_sys6(__NR_process_vm_readv, tid, (u64)&here, 1, (u64)&there, 1, 0) == (i64)n;
}

static bool copy_to(u32 tid, u64 to, const void *from, u64 n)
{
	const struct iovec here = {(void *)from, n}, there = {(void *)to, n};
	return tw_sys6(__NR_process_vm_writev, tid, (u64)&here, 1, (u64)&there, 1, 0) == (i64)n;
}

/* Finds its struct thread. A new thread still has its parent's in %gs, and its own on its stack. */
static bool find_thread(struct tracee *p)
{
	u64 at;
	p->at = p->real.gs_base;
	if (p->real.rsp - p->at >= THREAD_BYTES && p->real.rip < ARENA_CACHE && copy_from(p->tid, &at, p->real.rsp, sizeof at))
		p->at = at;
	return copy_from(p->tid, &p->thread, p->at, sizeof p->thread) && p->thread.self == p->at &&
	       copy_from(p->tid, &p->kernel, (u64)p->thread.kernel, sizeof p->kernel) &&
	       copy_from(p->tid, &p->signal, (u64)p->thread.signal, sizeof p->signal);
}

/* ---- its registers ---- */

static bool is_in_cache(u64 host)
{
	return host >= ARENA_CACHE && host < ARENA_CACHE_END;
}

/* On the alternate signal stack: the context that the handler was called with, if it is in the cache and not saved yet; 0: none. */
static u64 find_context(const struct tracee *p, struct tw_ucontext *c)
{
	const u64 up = p->real.rsp - p->at;
	if (up <= THREAD_STACK_TOP || up >= THREAD_BYTES)
		return 0;
	const u64 at = p->real.rip == (u64)tw_signal_handler ? p->real.rsp + sizeof(u64) : p->signal.interrupted;
	return at && copy_from(p->tid, c, at, sizeof *c) && is_in_cache(c->rip) ? at : 0;
}

/* The registers of the application in the order of struct thread. */
static u64 *places(struct shown *s, u32 r)
{
	u64 *const of[TW_NREGS] = {
	    [TW_RAX] = &s->rax, [TW_RCX] = &s->rcx, [TW_RDX] = &s->rdx, [TW_RBX] = &s->rbx, [TW_RSP] = &s->rsp, [TW_RBP] = &s->rbp,
	    [TW_RSI] = &s->rsi, [TW_RDI] = &s->rdi, [TW_R8] = &s->r8,   [TW_R9] = &s->r9,   [TW_R10] = &s->r10, [TW_R11] = &s->r11,
	    [TW_R12] = &s->r12, [TW_R13] = &s->r13, [TW_R14] = &s->r14, [TW_R15] = &s->r15,
	};
	return of[r];
}

/* In the place of the handler's registers, those that it interrupted. */
static void take_context(struct tracee *p)
{
	struct tw_ucontext c;
	u64 regs[TW_NREGS];
	p->context = find_context(p, &c);
	if (!p->context)
		return;
	tw_frame_registers(regs, &c);
	for (u32 r = 0; r < TW_NREGS; r++)
		*places(&p->real, r) = regs[r];
	p->real.rip = c.rip;
	p->real.flags = c.eflags;
	p->real.orig_rax = ~0ull;
}

static void show_saved(struct tracee *p)
{
	const struct tw_traced *d = &p->kernel.traced;
	struct shown *s = &p->shown;
	for (u32 r = 0; r < TW_NREGS; r++)
		*places(s, r) = d->replaced ? d->regs[r] : p->thread.regs[r];
	s->rip = d->replaced ? d->pc : p->thread.pc;
	s->flags = d->replaced ? d->flags : p->thread.flags;
	s->orig_rax = ~0ull;
	if (d->stop) {
		s->orig_rax = (u64)d->number;
	} else if (p->in_call && !d->replaced) { /* as the kernel has it of the call it is in */
		s->orig_rax = d->stops ? (u64)d->number : p->thread.regs[TW_RAX];
		s->rax = p->real.rax;
		s->rcx = s->rip;
		s->r11 = s->flags;
	}
}

static void show(struct tracee *p)
{
	p->shown = p->real;
	if (p->saved)
		show_saved(p);
	else if (is_in_cache(p->real.rip) && tw_instr()->records)
		p->shown.r11 = p->thread.app_r11;
	p->shown.fs_base = p->thread.app_fs;
	p->shown.gs_base = p->thread.app_gs;
}

static bool is_own_stop(u32 tid)
{
	siginfo_t info;
	return !tw_sys4(__NR_ptrace, PTRACE_GETSIGINFO, tid, 0, &info) && info.si_signo == SIGTRAP;
}

/* Looks at thread `tid`: true if it has stopped, this thread traces it, and the engine runs in it. */
static bool look(u32 tid, struct tracee *p)
{
	struct exit x = {0};
	p->tid = tid;
	if (tw_sys4(__NR_ptrace, PTRACE_GETREGS, tid, 0, &p->real) || p->real.rip < ARENA_ENGINE || p->real.rip >= ARENA_HEAP_END ||
	    !find_thread(p))
		return false;
	take_context(p);
	p->saved = p->real.rsp - p->at < THREAD_BYTES;
	p->at_call = p->kernel.traced.stop && is_own_stop(tid);
	p->in_call = p->saved && (p->at_call || !p->signal.own_signal) && copy_from(tid, &x, p->thread.exit, sizeof x) &&
	             (x.kind == EXIT_SYSCALL || x.kind == EXIT_INT80);
	show(p);
	return true;
}

/* ---- writing them ---- */

static bool same_but_r11(const struct shown *a, const struct shown *b)
{
	struct shown c = *a;
	c.r11 = b->r11;
	return !memcmp(&c, b, sizeof c);
}

static i64 set_context(const struct tracee *p, struct shown *s)
{
	struct tw_ucontext c;
	u64 regs[TW_NREGS];
	if (!copy_from(p->tid, &c, p->context, sizeof c))
		return -EIO;
	for (u32 r = 0; r < TW_NREGS; r++)
		regs[r] = *places(s, r);
	tw_frame_set_registers(&c, regs);
	c.eflags = s->flags;
	return copy_to(p->tid, p->context, &c, sizeof c) ? 0 : -EIO;
}

/* In its code: all but where it goes on. */
static i64 set_running(struct tracee *p, struct shown *s)
{
	if (s->rip != p->shown.rip)
		return -EIO;
	struct shown real = *s;
	if (p->shown.r11 != p->real.r11) {
		real.r11 = p->real.r11;
		if (!copy_to(p->tid, p->at + T_APP_R11, &s->r11, sizeof s->r11))
			return -EIO;
	}
	real.fs_base = p->real.fs_base;
	real.gs_base = p->real.gs_base;
	return p->context ? set_context(p, &real) : tw_sys4(__NR_ptrace, PTRACE_SETREGS, p->tid, 0, &real);
}

/* Its current call is not repeated, and its result is ignored. */
static i64 end_call(const struct tracee *p)
{
	struct shown real = p->real;
	real.orig_rax = ~0ull;
	real.rax = (u64)-EINTR;
	return tw_sys4(__NR_ptrace, PTRACE_SETREGS, p->tid, 0, &real);
}

static i64 set_saved(struct tracee *p, struct shown *s)
{
	struct tw_traced *d = &p->kernel.traced;
	if (!d->stop && !p->in_call)
		return -EIO;
	for (u32 r = 0; r < TW_NREGS; r++)
		d->regs[r] = *places(s, r);
	d->pc = s->rip;
	d->flags = s->flags;
	d->replaced = true;
	d->number = (i64)s->orig_rax;
	if (!copy_to(p->tid, (u64)p->thread.kernel + offsetof(struct tw_kernel_thread, traced), d, sizeof *d))
		return -EIO;
	return d->stop ? 0 : end_call(p);
}

static i64 set(struct tracee *p, struct shown *s)
{
	s->cs = p->shown.cs, s->ss = p->shown.ss;
	if (same_but_r11(s, &p->shown) && s->r11 == p->shown.r11)
		return 0;
	return p->saved ? set_saved(p, s) : set_running(p, s);
}

/* ---- requests ---- */

/* The register set that a[3] describes; *n: its bytes. */
static bool register_set(const u64 *a, u64 *at, u64 *n)
{
	struct iovec v;
	*at = a[3];
	*n = sizeof(struct shown);
	if (a[0] == PTRACE_GETREGS || a[0] == PTRACE_SETREGS)
		return true;
	if ((a[0] != PTRACE_GETREGSET && a[0] != PTRACE_SETREGSET) || a[2] != NT_PRSTATUS || !tw_copy(&v, (void *)a[3], sizeof v))
		return false;
	*at = (u64)v.iov_base;
	*n = v.iov_len < *n ? v.iov_len : *n;
	return true;
}

static void set_traced(const struct tracee *p, bool traced)
{
	copy_to(p->tid, (u64)p->thread.signal + offsetof(struct tw_signal_thread, traced), &traced, sizeof traced);
}

/* Sets whether it stops at system calls from now on. This includes the call in which it waits, which is repeated. */
static enum tw_ptrace go_on(const u64 *a)
{
	struct tracee p;
	const bool stops = a[0] == PTRACE_SYSCALL;
	if (!look((u32)a[1], &p))
		return TW_PTRACE_PASS;
	set_traced(&p, a[0] != PTRACE_DETACH);
	if (stops && !p.kernel.traced.stops && p.in_call && !p.kernel.traced.replaced && tw_traced_is_restart((i64)p.shown.rax))
		set_saved(&p, &p.shown);
	const u64 at = (u64)p.thread.kernel + offsetof(struct tw_kernel_thread, traced.stops);
	if (stops != p.kernel.traced.stops && !copy_to(p.tid, at, &stops, sizeof stops))
		return TW_PTRACE_PASS;
	return stops ? TW_PTRACE_CONTINUE : TW_PTRACE_PASS;
}

static enum tw_ptrace set_registers(const u64 *a, i64 *result)
{
	struct tracee p;
	u64 at, n;
	if (!register_set(a, &at, &n) || !look((u32)a[1], &p))
		return TW_PTRACE_PASS;
	struct shown s = p.shown;
	*result = tw_copy(&s, (void *)at, n) ? set(&p, &s) : -EFAULT;
	return TW_PTRACE_ANSWERED;
}

static enum tw_ptrace poke_user(const u64 *a, i64 *result)
{
	struct tracee p;
	if (a[2] % 8 || a[2] >= sizeof(struct shown) || !look((u32)a[1], &p))
		return TW_PTRACE_PASS;
	struct shown s = p.shown;
	memcpy((u8 *)&s + a[2], &a[3], sizeof a[3]);
	*result = set(&p, &s);
	return TW_PTRACE_ANSWERED;
}

static void note_options(u32 tid, u64 options)
{
	u32 *trace = tw_process_trace(tid);
	if (trace && options & PTRACE_O_TRACESYSGOOD)
		__atomic_fetch_or(trace, TW_TRACE_GOOD, __ATOMIC_SEQ_CST);
	else if (trace)
		__atomic_fetch_and(trace, ~(u32)TW_TRACE_GOOD, __ATOMIC_SEQ_CST);
}

enum tw_ptrace tw_ptrace_begin(const u64 *a, i64 *result)
{
	switch (a[0]) {
	case PTRACE_SYSCALL:
	case PTRACE_CONT:
	case PTRACE_DETACH:
	case PTRACE_SINGLESTEP:
	case PTRACE_LISTEN:
		return go_on(a);
	case PTRACE_SETREGS:
	case PTRACE_SETREGSET:
		return set_registers(a, result);
	case PTRACE_POKEUSR:
		return poke_user(a, result);
	default:
		return TW_PTRACE_PASS;
	}
}

static void show_registers(const u64 *a)
{
	struct tracee p;
	u64 at, n;
	if (register_set(a, &at, &n) && look((u32)a[1], &p))
		tw_copy((void *)at, &p.shown, n);
}

static void show_word(const u64 *a)
{
	struct tracee p;
	if (a[2] % 8 == 0 && a[2] < sizeof(struct shown) && look((u32)a[1], &p))
		tw_copy((void *)a[3], (u8 *)&p.shown + a[2], sizeof(u64));
}

static void show_siginfo(const u64 *a)
{
	struct tracee p;
	siginfo_t info;
	if (!look((u32)a[1], &p) || !p.at_call || !tw_copy(&info, (void *)a[3], sizeof info))
		return;
	info.si_code = tw_ptrace_is_call(p.tid) ? TRAP_GOOD : SIGTRAP;
	tw_copy((void *)a[3], &info, sizeof info);
}

/* What PTRACE_GET_SYSCALL_INFO tells; the bytes of it that count. */
static u64 call_info(const struct tracee *p, struct ptrace_syscall_info *info)
{
	const struct shown *s = &p->shown;
	const u64 of[6] = {s->rdi, s->rsi, s->rdx, s->r10, s->r8, s->r9};
	info->arch = AUDIT_ARCH_X86_64;
	info->instruction_pointer = s->rip;
	info->stack_pointer = s->rsp;
	switch (p->at_call && tw_ptrace_is_call(p->tid) ? p->kernel.traced.stop : TW_TRACED_NOT) {
	case TW_TRACED_ENTRY:
		info->op = PTRACE_SYSCALL_INFO_ENTRY;
		info->entry.nr = s->orig_rax;
		memcpy(info->entry.args, of, sizeof of);
		return offsetof(struct ptrace_syscall_info, entry.args) + sizeof of;
	case TW_TRACED_EXIT:
		info->op = PTRACE_SYSCALL_INFO_EXIT;
		info->exit.rval = (i64)s->rax;
		info->exit.is_error = tw_failed((i64)s->rax);
		return offsetof(struct ptrace_syscall_info, exit.is_error) + 1;
	default:
		return offsetof(struct ptrace_syscall_info, entry);
	}
}

static void show_call(const u64 *a, i64 *result)
{
	struct tracee p;
	struct ptrace_syscall_info info;
	memset(&info, 0, sizeof info);
	if (!look((u32)a[1], &p))
		return;
	const u64 n = call_info(&p, &info);
	if (tw_copy((void *)a[3], &info, a[2] < n ? a[2] : n))
		*result = (i64)n;
}

void tw_ptrace_show(const u64 *a, i64 *result)
{
	switch (tw_failed(*result) ? ~0ull : a[0]) {
	case PTRACE_GETREGS:
	case PTRACE_GETREGSET:
		show_registers(a);
		break;
	case PTRACE_PEEKUSR:
		show_word(a);
		break;
	case PTRACE_GETSIGINFO:
		show_siginfo(a);
		break;
	case PTRACE_GET_SYSCALL_INFO:
		show_call(a, result);
		break;
	case PTRACE_SETOPTIONS:
	case PTRACE_SEIZE:
		note_options((u32)a[1], a[3]);
		break;
	case PTRACE_ATTACH:
		note_options((u32)a[1], 0);
		break;
	}
}

/* ---- stops ---- */

bool tw_ptrace_is_call(u32 tid)
{
	const u32 both = TW_TRACE_GOOD | TW_TRACE_STOPPED;
	const u32 *trace = tw_process_trace(tid);
	return trace && (__atomic_load_n(trace, __ATOMIC_SEQ_CST) & both) == both;
}

/* A single step that the engine makes, not one requested by the tracer. */
static bool is_engines_step(const struct tracee *p)
{
	return p->signal.code_step || p->signal.settling || p->signal.unaligned_step;
}

/* Raised by the kernel at an instruction, not sent: sent signals arrive behind a system call. */
static bool is_machines(const struct tracee *p, const siginfo_t *info)
{
	return info->si_code > 0 && !p->signal.own_signal && p->real.rip != (u64)tw_syscall_end && p->real.rip != (u64)tw_int80_end;
}

static bool is_hidden(const struct tracee *p, const siginfo_t *info)
{
	if (tw_timer_is_tick(info->si_signo, info) || p->signal.dies_of == info->si_signo)
		return true;
	return tw_signal_is_sync(info->si_signo) && is_machines(p, info) &&
	       (info->si_signo != SIGTRAP || info->si_code != TRAP_TRACE || is_engines_step(p));
}

bool tw_ptrace_hide(u32 tid, i32 signo)
{
	struct tracee p;
	siginfo_t info;
	if (signo < 1 || signo > 64 || tw_sys4(__NR_ptrace, PTRACE_GETSIGINFO, tid, 0, &info) || !look(tid, &p) || !is_hidden(&p, &info))
		return false;
	set_traced(&p, true);
	return !tw_sys4(__NR_ptrace, PTRACE_CONT, tid, 0, signo);
}

void tw_ptrace_await(u32 tid)
{
	siginfo_t info;
	if (!tw_thread_of(tid))
		return;
	do
		memset(&info, 0, sizeof info);
	while (!tw_sys6(__NR_waitid, P_PID, tid, (u64)&info, WSTOPPED | WNOWAIT | __WALL, 0, 0) && info.si_code == CLD_TRAPPED &&
	       tw_ptrace_hide(tid, info.si_status));
}
