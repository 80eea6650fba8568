/* Limits that the program sets for itself: recording must not count towards them. */
#include "runtime.h"
#include "base/bpf.h"
#include <asm/unistd.h>
#include <linux/audit.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/resource.h>

/* ---- addresses ---- */

enum { STREAMS_MORE = 1 }; /* a handler's, or a child's before its parent's are forgotten */

static uint64_t addresses_of(struct tw_cc_process *p)
{
	const struct tw_sizes *sizes = &p->control->sizes;
	const uint64_t stream = (TW_BUFFERS + 2) * TW_CC_WINDOW + (tw_cc_tallies(p) ? tw_tally_bytes(sizes) : 0);
	uint64_t streams = STREAMS_MORE;
	struct tw_cc_thread *t;
	for (uint32_t k = 0; (t = tw_cc_next_entry(p, &k));)
		streams += t->tp ? t->streams : 0;
	return sizeof *p + TW_CONTROL_BYTES + (p->whole ? sizes->channel_bytes : 0) + sizes->table_bytes + streams * stream;
}

static uint64_t add(uint64_t limit, uint64_t own)
{
	return limit == RLIM64_INFINITY ? limit : limit + own;
}

static int limit(int pid, uint32_t what, const struct rlimit64 *to, struct rlimit64 *from)
{
	struct tw_cc_process *p = tw_cc_process();
	const bool is_ours = what == RLIMIT_AS && p->mode == TW_CC_RECORDED && !p->batch && (!pid || (uint32_t)pid == p->pid);
	const uint64_t before = p->beyond, own = to && is_ours ? addresses_of(p) : 0;
	const struct rlimit64 wide = to ? (struct rlimit64){add(to->rlim_cur, own), add(to->rlim_max, own)} : (struct rlimit64){0, 0};
	const int64_t error = SYS(__NR_prlimit64, pid, what, to ? &wide : 0, from);
	if (!error && own)
		p->beyond = own;
	if (!error && from && is_ours)
		*from = (struct rlimit64){add(from->rlim_cur, -before), add(from->rlim_max, -before)};
	return tw_cc_answer(error);
}

/* Weak: a program that has its own keeps it. */
#define EXPORTED __attribute__((visibility("default"), used, weak))

EXPORTED int setrlimit(int what, const struct rlimit64 *to);
EXPORTED int setrlimit64(int what, const struct rlimit64 *to);
EXPORTED int getrlimit(int what, struct rlimit64 *from);
EXPORTED int getrlimit64(int what, struct rlimit64 *from);
EXPORTED int prlimit(int pid, int what, const struct rlimit64 *to, struct rlimit64 *from);
EXPORTED int prlimit64(int pid, int what, const struct rlimit64 *to, struct rlimit64 *from);
EXPORTED int prctl(int what, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

int setrlimit(int what, const struct rlimit64 *to)
{
	return limit(0, (uint32_t)what, to, 0);
}

int setrlimit64(int what, const struct rlimit64 *to)
{
	return limit(0, (uint32_t)what, to, 0);
}

int getrlimit(int what, struct rlimit64 *from)
{
	return limit(0, (uint32_t)what, 0, from);
}

int getrlimit64(int what, struct rlimit64 *from)
{
	return limit(0, (uint32_t)what, 0, from);
}

int prlimit(int pid, int what, const struct rlimit64 *to, struct rlimit64 *from)
{
	return limit(pid, (uint32_t)what, to, from);
}

int prlimit64(int pid, int what, const struct rlimit64 *to, struct rlimit64 *from)
{
	return limit(pid, (uint32_t)what, to, from);
}

/* ---- memory that stays ---- */

EXPORTED int mlockall(int flags);

/* Recording reserves many addresses and touches few: so mlockall locks only pages that exist, and later ones when they appear. */
int mlockall(int flags)
{
	const struct tw_cc_process *p = tw_cc_process();
	return tw_cc_answer(SYS(__NR_mlockall, flags | (flags && p->mode == TW_CC_RECORDED ? MCL_ONFAULT : 0)));
}

/* ---- system calls ---- */

/*
 * Recording cannot go on without the system calls that the thread is about to lose: from now on, it writes to a
 * buffer that nobody reads, which needs none.
 */
static void fall_silent(struct tw_cc_process *p)
{
	struct tw_cc_thread *t = p->mode == TW_CC_RECORDED ? tw_cc_find(p) : 0;
	for (uint32_t k = 0; k < TW_CC_MODULES; k++)
		if (p->guarded[k].guard)
			p->guarded[k].guard->prepare(p, &p->guarded[k]);
	p->strict = true;
	if (!t)
		return;
	tw_cc_end_streams(p, t, 0, TW_ENDED_THREAD);
	p->mode = TW_CC_SILENT;
	tw_cc_begin(p, t);
}

/* Does the filter leave what recording needs? */
static bool spares(const struct sock_fprog *f)
{
	static const struct {
		uint16_t number, argument; /* the second */
		uint32_t least;
	} needs[] = {
	    {__NR_rt_sigprocmask, 0, SECCOMP_RET_LOG}, {__NR_futex, 0, SECCOMP_RET_LOG}, /* FUTEX_WAIT */
	    {__NR_futex, 1, SECCOMP_RET_LOG},                                            /* FUTEX_WAKE */
	    {__NR_getpid, 0, SECCOMP_RET_LOG},         {__NR_gettid, 0, SECCOMP_RET_LOG},
	    {__NR_open, 0, SECCOMP_RET_ERRNO}, /* of these an error does */
	    {__NR_close, 0, SECCOMP_RET_ERRNO},        {__NR_mmap, TW_PAGE, SECCOMP_RET_ERRNO},
	    {__NR_munmap, TW_PAGE, SECCOMP_RET_ERRNO},
	};
	struct seccomp_data call = {.arch = AUDIT_ARCH_X86_64, .args[2] = PROT_READ | PROT_WRITE};
	for (uint32_t k = 0; k < sizeof needs / sizeof *needs; k++) {
		call.nr = needs[k].number;
		call.args[1] = needs[k].argument;
		const uint32_t answer = tw_bpf_run(f->filter, f->len, &call) & SECCOMP_RET_ACTION_FULL;
		if ((int32_t)answer < (int32_t)needs[k].least) /* to kill the process is less than 0 */
			return false;
	}
	return true;
}

/* `f`: the filter that is asked for, or NULL. */
static void look_at(bool is_strict, const struct sock_fprog *f)
{
	if (is_strict || (f && f->filter && !spares(f)))
		fall_silent(tw_cc_process());
}

int prctl(int what, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	if (what == PR_SET_SECCOMP)
		look_at(a == SECCOMP_MODE_STRICT, a == SECCOMP_MODE_FILTER ? (const struct sock_fprog *)b : 0);
	return tw_cc_answer(SYS(__NR_prctl, what, a, b, c, d));
}

long tw_cc_limiting_syscall(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

/* seccomp by syscall() (fork.S), as libseccomp calls it. */
long tw_cc_limiting_syscall(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	look_at(a == SECCOMP_SET_MODE_STRICT, a == SECCOMP_SET_MODE_FILTER ? (const struct sock_fprog *)c : 0);
	return tw_cc_answer(SYS(number, a, b, c, d, e));
}
