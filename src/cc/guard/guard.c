/*
 * Code that does not test whether its buffer is full (`trackway cc --full=guard`): a store of a record faults in the
 * buffer's tail. The SIGSEGV handler here makes the code continue in another buffer.
 *
 * A store of a tag faults where its block begins, so the registers are those that a keyframe needs. A store of a
 * value faults in the middle of a block: its record is written to a page of its own, at the very end, so that the
 * next store of a tag faults; the record is then moved to its place in the tail (stream.c). The same holds for the
 * record of a counted loop, which is written at the loop's end: replay begins it with the registers of its start.
 *
 * The handler runs on a stack of the thread's own, unless the program has set a signal stack there. Other faults
 * belong to the program: its handlers run as usual, except that SIGSEGV is never really blocked. sigaction is in
 * signal.c; sigprocmask, pthread_sigmask and sigaltstack are here.
 */
#include "runtime.h"
#include <asm/signal.h>
#include <asm/siginfo.h>
#include <asm/sigcontext.h>
#include <asm/ucontext.h>
#include <asm/unistd.h>
#include <linux/mman.h>

enum { STACK_BYTES = 1 << 18, BYTES = 8, NONE = 2 /* SS_DISABLE */ };
#define FAULT      (1ull << (SIGSEGV - 1))
#define OF_LIBRARY (3ull << 31) /* signals that the C library has for itself */

/* Records of a block. */
struct tw_cc_site {
	uint64_t at; /* behind the code that stores the tag, but for its constant */
	uint16_t bytes;
	uint8_t reg, offset, spilled, counter;
	bool is_loop;
};

/* Maximum bytes: of a block's code behind its site; of the code in front of it that stores a tag. */
enum { REACH = 8192, TAG_STORE = 9 };

extern uint64_t trackway_cc_counter_at(void) __attribute__((weak, visibility("hidden")));

/* ---- where records are stored ---- */

/* The next part of the section from *at on; NULL: none. */
static const struct tw_cc_part *next_part(const uint8_t **at, const uint8_t *to)
{
	for (; *at + sizeof(struct tw_cc_part) <= to; ++*at) {
		const struct tw_cc_part *part = (const struct tw_cc_part *)(const void *)*at;
		if (part->magic == TW_CC_MAGIC) {
			*at += part->bytes;
			return part;
		}
	}
	return 0;
}

static struct tw_cc_site site_of(const struct tw_cc_block *b)
{
	int32_t place;
	tw_cc_copy(&place, &b->site, sizeof place);
	return (struct tw_cc_site){(uint64_t)&b->site + (uint64_t)(int64_t)place,
	                           (uint16_t)(2 + 8 * b->n_values),
	                           b->reg,
	                           b->offset,
	                           b->spilled,
	                           b->counter,
	                           b->flags & TW_DESC_LOOP};
}

/* Returns the number of sites. site: NULL, or with room for all. */
static uint64_t take_sites(const struct tw_cc_guarded *g, struct tw_cc_site *site)
{
	const uint8_t *at = g->from;
	uint64_t n = 0;
	for (const struct tw_cc_part *part; (part = next_part(&at, g->to));) {
		const uint8_t *b = (const uint8_t *)(part + 1);
		for (uint32_t k = 0; k < part->n_blocks; k++, n++) {
			const struct tw_cc_block *block = (const struct tw_cc_block *)(const void *)b;
			if (site)
				site[n] = site_of(block);
			b += block->bytes;
		}
	}
	return n;
}

/* Lets site k sink into the heap of n. */
static void sink(struct tw_cc_site *site, uint64_t k, uint64_t n)
{
	for (uint64_t child; (child = 2 * k + 1) < n; k = child) {
		child += child + 1 < n && site[child].at < site[child + 1].at;
		if (site[k].at >= site[child].at)
			return;
		const struct tw_cc_site other = site[child];
		site[child] = site[k];
		site[k] = other;
	}
}

static void sort(struct tw_cc_site *site, uint64_t n)
{
	for (uint64_t k = n / 2; k-- > 0;)
		sink(site, k, n);
	for (uint64_t k = n; k-- > 1;) {
		const struct tw_cc_site last = site[k];
		site[k] = site[0];
		site[0] = last;
		sink(site, 0, k);
	}
}

/* They are looked for only when something has faulted. */
static void find_sites(struct tw_cc_process *p, struct tw_cc_guarded *g)
{
	const uint64_t mask = tw_cc_lock(p), n = g->site ? 0 : take_sites(g, 0);
	const int64_t at = n ? SYS(__NR_mmap, 0, n * sizeof *g->site, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : -1;
	if (!tw_cc_failed(at)) {
		take_sites(g, (struct tw_cc_site *)at);
		sort((struct tw_cc_site *)at, n);
		g->n = n;
		__atomic_store_n(&g->site, (struct tw_cc_site *)at, __ATOMIC_RELEASE);
	}
	tw_cc_unlock(p, mask);
}

/* Is the instruction a `movw $tag, ...`? Then its site follows it. No other store begins so. */
static bool is_tag_store(const uint8_t *pc)
{
	return pc[0] == 0x66 && (pc[1] == 0xc7 || (pc[1] == 0x41 && pc[2] == 0xc7));
}

/* The site of the block whose store is at pc; NULL: none of this module. */
static const struct tw_cc_site *find_site(struct tw_cc_process *p, struct tw_cc_guarded *g, uint64_t pc)
{
	const bool is_tag = is_tag_store((const uint8_t *)pc);
	uint64_t from = 0; /* sites up to pc */
	if (!__atomic_load_n(&g->site, __ATOMIC_ACQUIRE))
		find_sites(p, g);
	for (uint64_t to = g->site ? g->n : 0; from < to;) {
		const uint64_t half = (from + to) / 2;
		if (g->site[half].at <= pc)
			from = half + 1;
		else
			to = half;
	}
	if (is_tag)
		return g->site && from < g->n && g->site[from].at - pc <= TAG_STORE ? &g->site[from] : 0;
	return from && pc - g->site[from - 1].at < REACH ? &g->site[from - 1] : 0;
}

/* ---- faults of stores ---- */

static void take_registers(const struct sigcontext *c, uint64_t *regs)
{
	const uint64_t own[TW_NREGS] = {c->rax, c->rcx, c->rdx, c->rbx, c->rsp, c->rbp, c->rsi, c->rdi,
	                                c->r8,  c->r9,  c->r10, c->r11, c->r12, c->r13, c->r14, c->r15};
	tw_cc_copy(regs, own, sizeof own);
}

static void set_register(struct sigcontext *c, uint8_t reg, uint64_t value)
{
	__typeof__(&c->rax) const of[TW_NREGS] = {&c->rax, &c->rcx, &c->rdx, &c->rbx, &c->rsp, &c->rbp, &c->rsi, &c->rdi,
	                                          &c->r8,  &c->r9,  &c->r10, &c->r11, &c->r12, &c->r13, &c->r14, &c->r15};
	*of[reg] = value;
}

/* What the program's own registers have while code has put them aside. */
static void undo_borrowing(const struct tw_cc_guarded *g, const struct tw_cc_site *site, uint64_t *regs)
{
	if (site->spilled < TW_NREGS && g->guard->spill_at)
		regs[site->spilled] = tw_cc_read_word(g->guard->spill_at);
	if (site->counter < TW_NREGS && g->guard->counter_at)
		regs[site->counter] = tw_cc_read_word(g->guard->counter_at);
}

/* The record at `start` goes on elsewhere. Returns where it begins then. */
static uint64_t move_record(struct tw_cc_process *p, struct tw_cc_stream *s, const struct tw_cc_guarded *g, const struct tw_cc_site *site,
                            uint64_t start, uint64_t address, uint64_t *regs)
{
	const bool is_tag = address < start + 2;
	if (start - TW_CC_STRAY <= TW_CC_RESERVE)
		return TW_CC_STRAY;
	if (s->number != TW_SLOTS && (!is_tag || site->is_loop)) {
		const uint64_t place = tw_cc_pointer_tear(p, s, start, site->bytes, !is_tag);
		if (place)
			return place;
		tw_cc_fail(p, "a record does not fit where its buffer ends");
	}
	undo_borrowing(g, site, regs);
	return g->guard->cold(start, regs);
}

/* Did a store of a record fault? Then makes the code continue. */
static bool go_on(struct tw_cc_process *p, struct tw_cc_thread *t, uint64_t address, struct sigcontext *c)
{
	struct tw_cc_stream *s = t ? tw_cc_written(t) : 0;
	uint64_t regs[TW_NREGS];
	if (!tw_cc_pointer_ends_at(p, s, address))
		return false;
	take_registers(c, regs);
	for (uint32_t k = 0; k < TW_CC_MODULES; k++) {
		struct tw_cc_guarded *g = &p->guarded[k];
		const struct tw_cc_site *site = g->guard ? find_site(p, g, c->rip) : 0;
		const uint64_t start = site && site->reg < TW_NREGS ? regs[site->reg] + site->offset : 0;
		if (!start || address - start >= site->bytes)
			continue;
		set_register(c, site->reg, move_record(p, s, g, site, start, address, regs) - site->offset);
		return true;
	}
	return false;
}

/* ---- other faults ---- */

static void die(const siginfo_t *info)
{
	const struct tw_cc_action act = {.flags = SA_RESTORER, .restorer = (uint64_t)tw_cc_restore};
	SYS(__NR_rt_sigaction, SIGSEGV, &act, 0, BYTES);
	const int64_t pid = SYS(__NR_getpid), tid = SYS(__NR_gettid);
	if (info->si_code <= 0) /* nothing would fault again */
		SYS(__NR_tgkill, pid, tid, SIGSEGV);
}

/* As the program would have had it. */
static void give_way(struct tw_cc_process *p, const struct tw_cc_thread *t, siginfo_t *info, struct ucontext *context)
{
	const struct tw_cc_handling own = p->handling[SIGSEGV];
	const uint64_t mask = (p->fault_mask | *(const uint64_t *)(const void *)&context->uc_sigmask) & ~FAULT;
	if (own.handler == (uint64_t)SIG_IGN && info->si_code <= 0)
		return;
	if (own.handler <= (uint64_t)SIG_IGN || (t && t->aside)) {
		die(info);
		return;
	}
	SYS(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, BYTES);
	tw_cc_handle(SIGSEGV, info, context);
}

static void take_fault(int number, siginfo_t *info, void *context)
{
	struct tw_cc_process *p = (struct tw_cc_process *)TW_CC_PLACE;
	struct ucontext *u = context;
	struct tw_cc_thread *t = p->strict ? tw_cc_again(p) : tw_cc_find(p);
	(void)number;
	if (info->si_code <= 0 || !go_on(p, t, u->uc_mcontext.cr2, &u->uc_mcontext))
		give_way(p, t, info, u);
}

/* ---- the handler ---- */

static void install(struct tw_cc_process *p)
{
	const struct tw_cc_action own = {(uint64_t)take_fault, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTORER, (uint64_t)tw_cc_restore,
	                                 ~FAULT};
	struct tw_cc_action before;
	SYS(__NR_rt_sigaction, SIGSEGV, &own, &before, BYTES);
	if (!p->guard && before.handler != (uint64_t)tw_cc_handle) {
		p->handling[SIGSEGV] = (struct tw_cc_handling){before.handler, before.flags};
		p->fault_mask = before.mask;
	}
	p->guard = &trackway_cc_guard;
}

static void act(struct tw_cc_process *p, const struct tw_cc_action *to, struct tw_cc_action *from)
{
	const struct tw_cc_action before = {p->handling[SIGSEGV].handler, p->handling[SIGSEGV].flags, 0, p->fault_mask};
	if (to) {
		enum { UNSUPPORTED = 0x400 }; /* a flag that kernels drop, which shows them which flags this kernel knows */
		p->handling[SIGSEGV] = (struct tw_cc_handling){to->handler, to->flags & ~(uint64_t)UNSUPPORTED};
		p->fault_mask = to->mask | (to->flags & SA_NODEFER ? 0 : FAULT);
	}
	if (from)
		*from = before;
}

/* The calling thread has a stack for it. */
static void use_stack(struct tw_cc_thread *t)
{
	stack_t now;
	if (!t || SYS(__NR_sigaltstack, 0, &now) || !(now.ss_flags & NONE))
		return;
	if (!t->alternate) {
		const int64_t at =
		    SYS(__NR_mmap, 0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		t->alternate = tw_cc_failed(at) ? 0 : (uint64_t)at;
	}
	const stack_t own = {(void *)t->alternate, 0, STACK_BYTES};
	if (t->alternate)
		SYS(__NR_sigaltstack, &own, 0);
}

static void enter(struct tw_cc_process *p, const uint8_t *from, const uint8_t *to)
{
	const uint64_t fault = FAULT;
	uint32_t k = 0;
	while (k < TW_CC_MODULES - 1 && p->guarded[k].guard)
		k++;
	p->guarded[k] = (struct tw_cc_guarded){.guard = &trackway_cc_guard, .from = from, .to = to};
	if (!p->guard)
		install(p);
	SYS(__NR_rt_sigprocmask, SIG_UNBLOCK, &fault, 0, BYTES);
	use_stack(tw_cc_self(p));
}

/* The module is closed. */
static void leave(struct tw_cc_process *p)
{
	const struct tw_cc_guard *other = 0;
	for (uint32_t k = 0; k < TW_CC_MODULES; k++) {
		struct tw_cc_guarded *g = &p->guarded[k];
		if (g->guard && g->guard != &trackway_cc_guard)
			other = g->guard;
		if (g->guard != &trackway_cc_guard)
			continue;
		g->guard = 0;
		if (g->site)
			SYS(__NR_munmap, g->site, g->n * sizeof *g->site);
	}
	if (p->guard != &trackway_cc_guard)
		return;
	if (other) {
		other->take_over(p);
		return;
	}
	p->guard = 0;
	tw_cc_signal_give_back(p, SIGSEGV, p->fault_mask);
}

const struct tw_cc_guard trackway_cc_guard = {
    enter, leave, install, use_stack, find_sites, act, tw_cc_cold, trackway_cc_spill_at, trackway_cc_counter_at,
};

/* ---- what the program does about signals ---- */

/* Weak: a program that has its own keeps it. */
#define EXPORTED __attribute__((visibility("default"), used, weak))

EXPORTED int sigprocmask(int how, const uint64_t *to, uint64_t *from);
EXPORTED int pthread_sigmask(int how, const uint64_t *to, uint64_t *from);
EXPORTED int sigaltstack(const stack_t *to, stack_t *from);

/* Returns 0 or an error's number. */
static int set_mask(int how, const uint64_t *to, uint64_t *from)
{
	struct tw_cc_thread *t = tw_cc_self(tw_cc_process());
	const bool hidden = t && t->hides_fault, names = to && *to & FAULT;
	const uint64_t real = to ? *to & ~(FAULT | OF_LIBRARY) : 0;
	const int64_t error = SYS(__NR_rt_sigprocmask, how, to ? &real : 0, from, BYTES);
	if (error)
		return (int)-error;
	if (t && to && (how == SIG_SETMASK || names))
		t->hides_fault = names && how != SIG_UNBLOCK;
	if (from && hidden)
		*from |= FAULT;
	return 0;
}

int pthread_sigmask(int how, const uint64_t *to, uint64_t *from)
{
	return set_mask(how, to, from);
}

int sigprocmask(int how, const uint64_t *to, uint64_t *from)
{
	return tw_cc_answer(-set_mask(how, to, from));
}

int sigaltstack(const stack_t *to, stack_t *from)
{
	struct tw_cc_thread *t = tw_cc_self(tw_cc_process());
	stack_t before;
	const int64_t error = SYS(__NR_sigaltstack, to, &before);
	if (error)
		return tw_cc_answer(error);
	if (t && t->alternate && (uint64_t)before.ss_sp == t->alternate)
		before = (stack_t){.ss_flags = NONE};
	if (from)
		*from = before;
	if (to && to->ss_flags & NONE)
		use_stack(t);
	return 0;
}
