#include "engine/kernel/selector.h"
#include "engine/kernel/segment.h"
#include "engine/code/memory.h"
#include "engine/signal/signal.h"
#include "engine/x86_64/decode.h"
#include "engine/x86_64/glue.h"
#include "engine/x86_64/operand.h"
#include <asm/prctl.h>
#include <asm/unistd.h>

static struct block block; /* under the engine's lock */

static void decode_guarded(void *arg)
{
	const struct thread *t = arg;
	u64 limit;
	if (!tw_memory_executable(t->pc, &limit))
		limit = t->pc; /* changed meanwhile */
	tw_decode_block(&block, t->pc, limit);
}

/* The base that loading a selector has set: 0 for a null selector, unless the processor leaves the base unchanged. */
static u64 read_base(int code)
{
	u64 base = 0;
	tw_sys(__NR_arch_prctl, code, &base, 0);
	return base;
}

static bool load_gs(struct thread *t, u16 selector)
{
	u64 all = ~TW_SYNC_SIGNALS, before;
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
	const bool loaded = tw_load_gs(selector);
	const u64 base = loaded ? read_base(ARCH_GET_GS) : 0;
	if (loaded && tw_engine.fsgsbase) /* the selector stays */
		__asm__ volatile("wrgsbase %0" : : "r"(t));
	else if (loaded)
		tw_sys(__NR_arch_prctl, ARCH_SET_GS, t, 0);
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
	if (loaded && base != (u64)t)
		tw_segment_based(t, TW_SEG_GS, base);
	return loaded;
}

static bool load_fs(struct thread *t, u16 selector)
{
	const bool loaded = tw_load_fs(selector);
	if (loaded)
		tw_segment_based(t, TW_SEG_FS, read_base(ARCH_GET_FS));
	return loaded;
}

/* What the instruction does that is not in struct insn. */
struct load {
	u8 opcode; /* 8E mov; after 0F: A1 pop fs, A9 pop gs, B4 lfs, B5 lgs */
	u8 modrm, rex;
	bool wide;   /* REX.W, on processors that honour it: AMD's have no 64-bit offsets */
	bool narrow; /* prefix 66 */
	u8 len;
	bool reads; /* memory, from... */
	u64 address;
};

static struct load parse(const struct thread *t, const struct insn *i)
{
	struct load l = {.len = i->len};
	const u8 *p = i->raw + i->n_prefixes;
	for (u8 k = 0; k < i->n_prefixes; k++) {
		l.narrow |= i->raw[k] == 0x66;
		l.rex = (i->raw[k] & 0xf0) == 0x40 ? i->raw[k] : 0;
	}
	if ((*p & 0xf0) == 0x40)
		l.rex = *p++;
	l.wide = (l.rex & 8) && !tw_engine.is_amd;
	p += *p == 0x0f;
	l.opcode = *p++;
	l.modrm = *p;
	l.reads = i->n_ops && block.op[i->first_op].op.kind == TW_OP_REF;
	l.address = l.reads ? tw_effective_address(t, t->regs, &block.op[i->first_op].op) : 0;
	return l;
}

/* lfs, lgs: the register that the offset goes to. */
static void set_offset(struct thread *t, const struct load *l, u64 offset)
{
	u64 *r = &t->regs[(l->modrm >> 3 & 7) | (l->rex & 4) << 1];
	if (l->wide)
		*r = offset;
	else if (l->narrow)
		*r = (*r & ~0xffffull) | (u16)offset;
	else
		*r = (u32)offset;
}

void tw_selector_load(struct thread *t)
{
	u8 bytes[10];
	u16 selector;
	tw_lock(&tw_engine.lock);
	tw_with_decoder(decode_guarded, t);
	const struct load l = parse(t, &block.insn[0]);
	tw_unlock(&tw_engine.lock);
	const bool pops = (l.opcode & 0xf7) == 0xa1, far = l.opcode == 0xb4 || l.opcode == 0xb5;
	const u64 offset_bytes = !far ? 0 : l.wide ? 8 : l.narrow ? 2 : 4;
	if (l.reads && !tw_copy(bytes, (void *)l.address, offset_bytes + sizeof selector)) {
		tw_signal_page_fault(t, l.address, tw_engine_mapped(l.address) ? FAULT_PRESENT : 0);
		return;
	}
	if (l.reads)
		memcpy(&selector, bytes + offset_bytes, sizeof selector);
	else
		selector = (u16)t->regs[(l.modrm & 7) | (l.rex & 1) << 3];
	const bool fs = l.opcode == 0x8e ? (l.modrm >> 3 & 7) == 4 : l.opcode == 0xa1 || l.opcode == 0xb4;
	if (!(fs ? load_fs(t, selector) : load_gs(t, selector))) {
		tw_signal_force(t, SIGSEGV, selector & ~3u);
		return;
	}
	u64 offset = 0;
	memcpy(&offset, bytes, offset_bytes);
	if (far)
		set_offset(t, &l, offset);
	if (pops)
		t->regs[TW_RSP] += l.narrow ? 2 : 8;
	t->pc += l.len;
}
