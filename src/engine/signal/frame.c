#include "engine/signal/frame.h"
#include "engine/x86_64/glue.h"
#include <asm/errno.h>
#include <asm/prctl.h>
#include <asm/unistd.h>

#define UC_FP_XSTATE         1u
#define UC_SIGCONTEXT_SS     2u
#define UC_STRICT_RESTORE_SS 4u
#define FP_XSTATE_MAGIC1     0x46505853u
#define FP_XSTATE_MAGIC2     0x46505845u
#define SW_BYTES_AT          464 /* struct _fpx_sw_bytes within the legacy area */
#define XSTATE_BV_AT         512 /* the components that are not in their initial state */
#define XSTATE_LEGACY        3u  /* x87, SSE */
#define USER_CS              0x33
#define USER_SS              0x2b
#define EFLAGS_PLAIN         0x202u
#define SS_NO_CHANGE         ~0u      /* of sigaltstack: the kernel leaves the alternate stack as it is */
#define EFLAGS_SAFE          0x40dd5u /* flags that sigreturn may change: AC OF DF TF SF ZF AF PF CF */

_Static_assert(offsetof(struct tw_ucontext, rsp) == UC_RSP && offsetof(struct tw_ucontext, rip) == UC_RIP, "engine/layout.h");

struct sw_bytes {
	u32 magic1, extended_size;
	u64 xfeatures;
	u32 xstate_size, padding[7];
};

struct frame {
	u64 pretcode;
	struct tw_ucontext uc;
	siginfo_t info;
};

static const u16 slot_offset[TW_NREGS] = {
    [TW_RAX] = offsetof(struct tw_ucontext, rax), [TW_RCX] = offsetof(struct tw_ucontext, rcx),
    [TW_RDX] = offsetof(struct tw_ucontext, rdx), [TW_RBX] = offsetof(struct tw_ucontext, rbx),
    [TW_RSP] = offsetof(struct tw_ucontext, rsp), [TW_RBP] = offsetof(struct tw_ucontext, rbp),
    [TW_RSI] = offsetof(struct tw_ucontext, rsi), [TW_RDI] = offsetof(struct tw_ucontext, rdi),
    [TW_R8] = offsetof(struct tw_ucontext, r8),   [TW_R9] = offsetof(struct tw_ucontext, r9),
    [TW_R10] = offsetof(struct tw_ucontext, r10), [TW_R11] = offsetof(struct tw_ucontext, r11),
    [TW_R12] = offsetof(struct tw_ucontext, r12), [TW_R13] = offsetof(struct tw_ucontext, r13),
    [TW_R14] = offsetof(struct tw_ucontext, r14), [TW_R15] = offsetof(struct tw_ucontext, r15),
};

static u64 *frame_slot(struct tw_ucontext *uc, u8 reg)
{
	return (u64 *)((u8 *)uc + slot_offset[reg]);
}

void tw_frame_registers(u64 *regs, const struct tw_ucontext *uc)
{
	for (u8 r = 0; r < TW_NREGS; r++)
		regs[r] = *(const u64 *)((const u8 *)uc + slot_offset[r]);
}

void tw_frame_set_registers(struct tw_ucontext *uc, const u64 *regs)
{
	for (u8 r = 0; r < TW_NREGS; r++)
		*(u64 *)((u8 *)uc + slot_offset[r]) = regs[r];
}

static u32 xstate_bytes(const void *xstate)
{
	struct sw_bytes sw;
	if (!xstate)
		return tw_engine.xsave_size + 4;
	memcpy(&sw, (const u8 *)xstate + SW_BYTES_AT, sizeof sw);
	return sw.magic1 == FP_XSTATE_MAGIC1 ? sw.extended_size : 512;
}

/* Stores the live vector state at `to` (64-byte aligned), with the kernel's software bytes. */
static bool save_live(u8 *to)
{
	struct sw_bytes sw = {FP_XSTATE_MAGIC1, tw_engine.xsave_size + 4, tw_engine.xcr0, tw_engine.xsave_size, {0}};
	u32 magic2 = FP_XSTATE_MAGIC2;
	u8 zero[64];
	memset(zero, 0, sizeof zero);
	/* Touch the memory first, so that a bad stack faults in tw_copy, not in xsave. */
	for (u32 n = 0; n < tw_engine.xsave_size; n += 64)
		if (!tw_copy(to + n, zero, 64))
			return false;
	__asm__ volatile("xsave64 (%0)" : : "r"(to), "a"((u32)tw_engine.xcr0), "d"((u32)(tw_engine.xcr0 >> 32)) : "memory");
	u64 *there = (u64 *)(to + XSTATE_BV_AT);
	*there |= XSTATE_LEGACY; /* as the kernel does: a handler may change these without setting their bits */
	return tw_copy(to + SW_BYTES_AT, &sw, sizeof sw) && tw_copy(to + tw_engine.xsave_size, &magic2, 4);
}

static void fill_context(struct tw_ucontext *uc, const struct thread *t, void *fp)
{
	memset(uc, 0, sizeof *uc);
	uc->flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS;
	uc->ss_sp = t->signal->altstack.sp;
	uc->ss_size = t->signal->altstack.size;
	uc->ss_flags = t->signal->altstack.flags;
	for (u8 r = 0; r < TW_NREGS; r++)
		*frame_slot(uc, r) = t->regs[r];
	uc->rip = t->pc;
	uc->eflags = t->flags;
	uc->cs = USER_CS;
	uc->ss = USER_SS;
	uc->fpstate = fp;
	uc->sigmask = t->signal->mask;
	uc->err = t->signal->fault.err;
	uc->trapno = t->signal->fault.trapno;
	uc->cr2 = t->signal->fault.cr2;
}

/* Is this within its alternate stack? */
static bool is_within(const struct thread *t, u64 sp)
{
	return t->signal->altstack.size && sp > t->signal->altstack.sp && sp - t->signal->altstack.sp <= t->signal->altstack.size;
}

bool tw_frame_on_altstack(const struct thread *t, u64 sp)
{
	return is_within(t, sp) && !(t->signal->altstack.flags & SS_AUTODISARM_BIT);
}

i64 tw_frame_set_altstack(struct thread *t, u64 sp, u64 size, u32 flags)
{
	const u32 mode = flags & ~SS_AUTODISARM_BIT;
	if (tw_frame_on_altstack(t, t->regs[TW_RSP]))
		return -EPERM;
	if (mode && mode != SS_DISABLE && mode != SS_ONSTACK)
		return -EINVAL;
	if (mode == SS_DISABLE)
		sp = size = 0;
	else if (size < MINSIGSTKSZ)
		return -ENOMEM;
	t->signal->altstack = (struct tw_altstack){sp, size, flags};
	return 0;
}

bool tw_frame_push(struct thread *t, int signo, const siginfo_t *info, const struct ksigaction *a, const void *xstate)
{
	u64 sp = t->regs[TW_RSP] - 128;
	const bool on = tw_frame_on_altstack(t, t->regs[TW_RSP]), entering = (a->flags & SA_ONSTACK) && t->signal->altstack.size && !on;
	if (entering)
		sp = t->signal->altstack.sp + t->signal->altstack.size;
	u32 bytes = xstate_bytes(xstate);
	u64 fp = (sp - bytes) & ~63ull;
	u64 at = ((fp - sizeof(struct frame)) & ~15ull) - 8;
	struct frame f;
	if ((on || entering) && !is_within(t, at))
		return false;
	fill_context(&f.uc, t, (void *)fp);
	f.pretcode = a->restorer;
	f.info = *info;
	if (xstate) {
		if (!tw_copy((void *)fp, xstate, bytes))
			return false;
	} else if (!save_live((u8 *)fp)) {
		return false;
	}
	if (!tw_copy((void *)at, &f, sizeof f))
		return false;
	if (t->signal->altstack.flags & SS_AUTODISARM_BIT)
		t->signal->altstack = (struct tw_altstack){.flags = SS_DISABLE};
	t->regs[TW_RSP] = at;
	t->regs[TW_RDI] = (u64)signo;
	t->regs[TW_RSI] = at + offsetof(struct frame, info);
	t->regs[TW_RDX] = at + offsetof(struct frame, uc);
	t->regs[TW_RAX] = 0;
	t->pc = a->handler;
	t->flags &= ~0x500ull; /* TF, DF */
	return true;
}

/* Is there a complete xsave area at `fp`, as the kernel writes it? */
static bool is_whole(const struct sw_bytes *sw, const void *fp)
{
	u32 magic2;
	if (sw->magic1 != FP_XSTATE_MAGIC1 || sw->xstate_size < XSTATE_BV_AT + 64 || sw->xstate_size > tw_engine.xsave_size ||
	    sw->xstate_size > sw->extended_size || tw_engine.xcr0 & ~sw->xfeatures)
		return false;
	return tw_copy(&magic2, (const u8 *)fp + sw->xstate_size, sizeof magic2) && magic2 == FP_XSTATE_MAGIC2;
}

/*
 * An incomplete frame's effect on the state, and whether it is refused, differ between machines: on some a misaligned
 * one works (tests/engine/frames.sh).
 */
static bool restore_by_kernel(const struct thread *t, void *fp)
{
	struct tw_ucontext uc;
	fill_context(&uc, t, fp);
	uc.eflags = EFLAGS_PLAIN;
	uc.ss_flags = SS_NO_CHANGE;
	tw_sys4(__NR_rt_sigprocmask, SIG_BLOCK, NULL, &uc.sigmask, sizeof uc.sigmask);
	return tw_sigreturn_here(&uc);
}

static bool restore_xstate(const struct thread *t, void *fp)
{
	struct sw_bytes sw;
	if (fp && tw_copy(&sw, (const u8 *)fp + SW_BYTES_AT, sizeof sw) && is_whole(&sw, fp) && tw_xrstor(fp, tw_engine.xcr0))
		return true;
	return restore_by_kernel(t, fp);
}

bool tw_frame_pop(struct thread *t, u64 *mask)
{
	struct tw_ucontext uc;
	u64 at = t->regs[TW_RSP] - 8 + offsetof(struct frame, uc);
	if (!tw_copy(&uc, (void *)at, sizeof uc))
		return false;
	tw_frame_set_altstack(
	    t, uc.ss_sp, uc.ss_size,
	    uc.ss_flags); /* before it leaves this stack, as Linux does since 6.12; if the new one cannot be set, the old one stays */
	tw_frame_registers(t->regs, &uc);
	t->pc = uc.rip;
	t->flags = (t->flags & ~(u64)EFLAGS_SAFE) | (uc.eflags & EFLAGS_SAFE) | 2;
	*mask = uc.sigmask;
	return restore_xstate(t, uc.fpstate);
}

void tw_frame_leave(const struct thread *t, u64 mask, const void *xstate)
{
	u8 live[xstate ? 1 : tw_engine.xsave_size + 4 + 63];
	void *fp = (void *)(((u64)live + 63) & ~63ull);
	struct frame f;
	fill_context(&f.uc, t, xstate ? (void *)xstate : save_live(fp) ? fp : NULL);
	f.uc.sigmask = mask;
	tw_sys(__NR_arch_prctl, ARCH_SET_GS, t->app_gs, 0);
	tw_sigreturn(&f.uc);
}
