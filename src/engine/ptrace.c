#include "engine/ptrace.h"
#include "engine/thread.h"
#include "instrument/instrumentor.h"
#include <asm/ptrace.h>
#include <asm/unistd.h>
#include <elf.h>
#include <linux/ptrace.h>
#include <linux/wait.h>

/* As the kernel shows them. */
struct shown {
	u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, flags, rsp, ss, fs_base, gs_base,
	    ds, es, fs, gs;
};

/* It is in the engine, on whose stack it is: its registers were saved when it left the cache. */
static void show_saved(const struct thread *o, struct shown *s)
{
	const u64 *r = o->regs;
	s->rbx = r[TW_RBX], s->rbp = r[TW_RBP], s->rsp = r[TW_RSP], s->rcx = r[TW_RCX], s->rdx = r[TW_RDX], s->rsi = r[TW_RSI],
	s->rdi = r[TW_RDI];
	s->r8 = r[TW_R8], s->r9 = r[TW_R9], s->r10 = r[TW_R10], s->r11 = r[TW_R11], s->r12 = r[TW_R12], s->r13 = r[TW_R13],
	s->r14 = r[TW_R14];
	s->r15 = r[TW_R15];
	s->rip = o->pc;
	s->flags = o->flags;
}

static void show(const struct thread *o, struct shown *s)
{
	if (s->rsp - (u64)o < THREAD_BYTES)
		show_saved(o, s);
	else if (s->rip >= ARENA_CACHE && s->rip < ARENA_CACHE_END && tw_engine.instr->records)
		s->r11 = o->app_r11;
	s->fs_base = o->app_fs;
	s->gs_base = o->app_gs;
}

void tw_ptrace_show(u64 request, u32 tid, u64 address, u64 data)
{
	const struct thread *o = tw_thread_of(tid);
	u64 set[2] = {data, sizeof(struct shown)};
	struct shown s;
	if (!o || (request != PTRACE_GETREGS && (request != PTRACE_GETREGSET || address != NT_PRSTATUS)))
		return;
	if (request == PTRACE_GETREGSET && (!tw_copy(set, (void *)data, sizeof set) || set[1] != sizeof s))
		return;
	if (!tw_copy(&s, (void *)set[0], sizeof s))
		return;
	show(o, &s);
	tw_copy((void *)set[0], &s, sizeof s);
}

void tw_ptrace_await(u32 tid)
{
	if (tw_thread_of(tid))
		tw_sys6(__NR_waitid, P_PID, tid, 0, WSTOPPED | WNOWAIT | __WALL, 0, 0);
}
