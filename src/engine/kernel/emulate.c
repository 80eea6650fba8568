#include "engine/kernel/emulate.h"
#include "engine/kernel/segment.h"
#include "engine/record/buffer.h"
#include "engine/signal/signal.h"
#include "engine/kernel/selector.h"
#include <asm/errno.h>
#include <asm/prctl.h>
#include <asm/unistd.h>

#define EFLAGS_USER 0x254dd5u /* flags that iret may change outside the kernel: ID AC RF NT OF DF TF SF ZF AF PF CF */

/* iretq pops rip, cs, rflags, rsp, ss; a far ret pops rip and cs. The code segment is assumed to be the current one. */
static void far_return(struct thread *t, bool iret)
{
	u64 frame[5];
	u64 sp = t->regs[TW_RSP];
	if (!tw_copy(frame, (void *)sp, iret ? 40 : 16)) {
		tw_signal_page_fault(t, sp, tw_engine_mapped(sp) ? FAULT_PRESENT : 0);
		return;
	}
	t->pc = frame[0];
	t->regs[TW_RSP] = iret ? frame[3] : sp + 16;
	if (iret)
		t->flags = (t->flags & ~(u64)EFLAGS_USER) | (frame[2] & EFLAGS_USER) | 2;
	tw_buffer_keyframe(t);
}

static bool is_prefix(u8 byte)
{
	return byte == 0xf3 || byte == 0xf2 || byte == 0x66 || byte == 0x67 || byte == 0x64 || byte == 0x65 || (byte & 0xe7) == 0x26;
}

/* F3 [REX] 0F AE /n: /0 rdfsbase, /1 rdgsbase, /2 wrfsbase, /3 wrgsbase; [REX.W] CF iret, [REX.W] CB far ret; the others load a selector. */
void tw_emulate(struct thread *t)
{
	const u8 *p = (const u8 *)t->pc;
	u8 rex = 0;
	while (is_prefix(*p))
		p++;
	if ((*p & 0xf0) == 0x40)
		rex = *p++;
	if (*p == 0xcf || *p == 0xcb) {
		far_return(t, *p == 0xcf);
		return;
	}
	if (*p == 0x8e || (*p == 0x0f && p[1] != 0xae)) {
		tw_selector_load(t);
		return;
	}
	u8 modrm = p[2], reg = (u8)((modrm & 7) | (rex & 1) << 3);
	u64 value = rex & 8 ? t->regs[reg] : (u32)t->regs[reg];
	t->pc = (u64)(p + 3);
	switch (modrm >> 3 & 7) {
	case 1:
		t->regs[reg] = rex & 8 ? t->app_gs : (u32)t->app_gs;
		return;
	case 2:
		tw_set_segment(t, TW_SEG_FS, value);
		return;
	default:
		tw_set_segment(t, TW_SEG_GS, value);
	}
}

/* ---- the vsyscall page ---- */

#define VSYSCALL_PAGE  0xffffffffff600000ull
#define VSYSCALL_BYTES 1024u

/* False: the kernel would force SIGSEGV on the thread. */
static bool make_vsyscall(struct thread *t, u64 at)
{
	static const u16 number[] = {__NR_gettimeofday, __NR_time, __NR_getcpu};
	u64 back;
	if (at % VSYSCALL_BYTES || at / VSYSCALL_BYTES >= sizeof number / sizeof *number ||
	    !tw_copy(&back, (void *)t->regs[TW_RSP], sizeof back))
		return false;
	const i64 r = tw_sys(number[at / VSYSCALL_BYTES], t->regs[TW_RDI], t->regs[TW_RSI], t->regs[TW_RDX]);
	if (r == -EFAULT)
		return false;
	t->regs[TW_RAX] = (u64)r;
	t->regs[TW_RSP] += sizeof back;
	t->pc = back;
	tw_buffer_keyframe(t);
	return true;
}

bool tw_emulate_vsyscall(struct thread *t)
{
	const u64 at = t->pc - VSYSCALL_PAGE;
	if (at >= TW_PAGE)
		return false;
	if (!make_vsyscall(t, at))
		tw_signal_force(t, SIGSEGV, 0);
	return true;
}
