#include "engine/kernel/seccomp.h"
#include "engine/kernel/bpf.h"
#include "engine/record/buffer.h"
#include "engine/signal/death.h"
#include "engine/signal/signal.h"
#include "engine/kernel/exit.h"
#include "engine/thread.h"
#include <asm/unistd.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/mman.h>
#include <linux/prctl.h>

#define ERROR_EPERM      (-1)
#define ERROR_ESRCH      (-3)
#define ERROR_ENOMEM     (-12)
#define ERROR_EACCES     (-13)
#define ERROR_EFAULT     (-14)
#define ERROR_EINVAL     (-22)
#define ERROR_ENOSYS     (-38)
#define ERROR_EOPNOTSUPP (-95)
#define MAX_ERRNO        4095u
#define MOST_INSNS       32768u /* of all filters of a thread, as in the kernel; each filter counts 4 more */
#define KNOWN_FLAGS      (SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG | SECCOMP_FILTER_FLAG_SPEC_ALLOW | SECCOMP_FILTER_FLAG_TSYNC_ESRCH)

/* Never changed once in use, and never freed: forks and threads share it. */
struct tw_filter {
	const struct tw_filter *before; /* installed before it */
	u32 n;
	u32 reserved;
	struct sock_filter code[];
};

static tw_lock_t lock;

void tw_seccomp_lock(void)
{
	tw_lock(&lock);
}

void tw_seccomp_unlock(void)
{
	tw_unlock(&lock);
}

/* ---- asking ---- */

static u32 ask_all(const struct thread *t, const struct seccomp_data *data)
{
	u32 answer = SECCOMP_RET_ALLOW;
	for (const struct tw_filter *f = __atomic_load_n(&t->kernel->seccomp.filter, __ATOMIC_ACQUIRE); f; f = f->before) {
		u32 now = tw_bpf_run(f->code, f->n, data);
		if ((i32)(now & SECCOMP_RET_ACTION_FULL) < (i32)(answer & SECCOMP_RET_ACTION_FULL))
			answer = now;
	}
	return answer;
}

static bool strict_allows(u64 nr)
{
	return nr == __NR_read || nr == __NR_write || nr == __NR_exit || nr == __NR_rt_sigreturn;
}

/* Ends the thread; if it is the only one, the process. */
static void kill_thread(struct thread *t, int signo)
{
	if (tw_engine.n_threads > 1 && !t->vforked)
		tw_thread_exit(t, 0, false);
	tw_death(t, signo, NULL, NULL);
}

bool tw_seccomp_allows(struct thread *t, i64 *result)
{
	const u64 *r = t->regs;
	const struct seccomp_data data = {
	    (int)r[TW_RAX], AUDIT_ARCH_X86_64, t->pc, {r[TW_RDI], r[TW_RSI], r[TW_RDX], r[TW_R10], r[TW_R8], r[TW_R9]}};
	if (t->kernel->seccomp.strict) {
		if (!strict_allows(r[TW_RAX]))
			kill_thread(t, SIGKILL);
		return true;
	}
	u32 answer = ask_all(t, &data), value = answer & SECCOMP_RET_DATA;
	switch (answer & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		return true;
	case SECCOMP_RET_ERRNO:
		*result = -(i64)(value < MAX_ERRNO ? value : MAX_ERRNO);
		return false;
	case SECCOMP_RET_TRACE: /* no tracer */
	case SECCOMP_RET_USER_NOTIF:
		*result = ERROR_ENOSYS;
		return false;
	case SECCOMP_RET_TRAP:
		tw_signal_refused_call(t, SYS_SECCOMP, (int)value);
		*result = SECCOMP_ANSWERED;
		return false;
	case SECCOMP_RET_KILL_THREAD:
		kill_thread(t, SIGSYS);
		return false;
	default:
		tw_death(t, SIGSYS, NULL, NULL);
	}
}

/* ---- installing ---- */

static bool has_privilege(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct cap[2];
	if (tw_sys6(__NR_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1)
		return true;
	return !tw_failed(tw_sys(__NR_capget, &head, cap, 0)) && cap[0].effective >> CAP_SYS_ADMIN & 1;
}

static u32 insns_of(const struct tw_filter *f)
{
	u32 n = 0;
	for (; f; f = f->before)
		n += f->n + 4;
	return n;
}

static struct tw_filter *allocate(u32 n)
{
	i64 at = tw_mmap(0, sizeof(struct tw_filter) + n * sizeof(struct sock_filter), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                 -1, 0);
	return tw_failed(at) ? NULL : (struct tw_filter *)at;
}

static void release(struct tw_filter *f, u32 n)
{
	tw_sys(__NR_munmap, f, sizeof *f + n * sizeof *f->code, 0);
}

/* The program's filter, checked. NULL: *error says why not. */
static struct tw_filter *copy_filter(u64 args, i64 *error)
{
	struct sock_fprog p;
	*error = ERROR_EFAULT;
	if (!tw_copy(&p, (void *)args, sizeof p))
		return NULL;
	*error = ERROR_EINVAL;
	if (p.len == 0 || p.len > BPF_MAXINSNS)
		return NULL;
	*error = ERROR_EACCES;
	if (!has_privilege())
		return NULL;
	struct tw_filter *f = allocate(p.len);
	*error = ERROR_ENOMEM;
	if (!f)
		return NULL;
	f->n = p.len;
	bool copied = tw_copy(f->code, p.filter, p.len * sizeof *f->code);
	if (copied && tw_bpf_valid(f->code, f->n))
		return f;
	*error = copied ? ERROR_EINVAL : ERROR_EFAULT;
	release(f, p.len);
	return NULL;
}

static bool is_ancestor(const struct tw_filter *a, const struct tw_filter *of)
{
	while (of && of != a)
		of = of->before;
	return of == a;
}

/* The first thread with filters that t does not have; 0: none. */
static u32 cannot_follow(const struct thread *t)
{
	for (const struct thread *other = NULL; (other = tw_thread_next(t, other));)
		if (other->kernel->seccomp.strict || !is_ancestor(other->kernel->seccomp.filter, t->kernel->seccomp.filter))
			return other->tid;
	return 0;
}

static i64 install(struct thread *t, u64 flags, u64 args)
{
	i64 error;
	tw_lock(&lock);
	struct tw_filter *f = copy_filter(args, &error);
	u32 odd = f && flags & SECCOMP_FILTER_FLAG_TSYNC ? cannot_follow(t) : 0;
	if (f && odd)
		error = flags & SECCOMP_FILTER_FLAG_TSYNC_ESRCH ? ERROR_ESRCH : (i64)odd;
	else if (f && insns_of(t->kernel->seccomp.filter) + f->n > MOST_INSNS)
		error = ERROR_ENOMEM;
	else if (f)
		error = 0;
	if (f && error)
		release(f, f->n);
	if (f && !error) {
		f->before = t->kernel->seccomp.filter;
		__atomic_store_n(&t->kernel->seccomp.filter, f, __ATOMIC_RELEASE);
		for (struct thread *other = NULL; flags & SECCOMP_FILTER_FLAG_TSYNC && (other = tw_thread_next(t, other));)
			__atomic_store_n(&other->kernel->seccomp.filter, f, __ATOMIC_RELEASE);
	}
	tw_unlock(&lock);
	return error;
}

static void tell_refused(struct thread *t)
{
	static const struct tw_gap gap = {TW_GAP_WITHIN, 0};
	static const char why[] =
	    "a seccomp filter with a listener (SECCOMP_FILTER_FLAG_NEW_LISTENER) was refused: it cannot be run by the engine";
	tw_buffer_event(t, TW_EVENT_GAP, &gap, sizeof gap, why, sizeof why);
}

static i64 set_filter(struct thread *t, u64 flags, u64 args)
{
	if (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER)
		tell_refused(t);
	if ((flags & ~(u64)KNOWN_FLAGS) || t->kernel->seccomp.strict)
		return ERROR_EINVAL;
	return install(t, flags, args);
}

/* Refused under a filter: the program's, or one under which recorder and program were started, as in a container. */
static i64 set_strict(struct thread *t)
{
	if (t->kernel->seccomp.filter || tw_sys(__NR_prctl, PR_GET_SECCOMP, 0, 0) == SECCOMP_MODE_FILTER)
		return ERROR_EINVAL;
	t->kernel->seccomp.strict = true;
	tw_sys(__NR_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0); /* as the kernel does */
	return 0;
}

static i64 is_available(u64 at)
{
	u32 action;
	if (!tw_copy(&action, (void *)at, sizeof action))
		return ERROR_EFAULT;
	switch (action) {
	case SECCOMP_RET_KILL_PROCESS:
	case SECCOMP_RET_KILL_THREAD:
	case SECCOMP_RET_TRAP:
	case SECCOMP_RET_ERRNO:
	case SECCOMP_RET_TRACE:
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_ALLOW:
		return 0;
	default:
		return ERROR_EOPNOTSUPP;
	}
}

i64 tw_seccomp(struct thread *t, u64 operation, u64 flags, u64 args)
{
	switch ((u32)operation) {
	case SECCOMP_SET_MODE_STRICT:
		return (u32)flags || args ? ERROR_EINVAL : set_strict(t);
	case SECCOMP_SET_MODE_FILTER:
		return set_filter(t, (u32)flags, args);
	case SECCOMP_GET_ACTION_AVAIL:
		return (u32)flags ? ERROR_EINVAL : is_available(args);
	default:
		return TW_SECCOMP_PASS;
	}
}

i64 tw_seccomp_prctl(struct thread *t, u64 option, u64 mode, u64 args)
{
	if ((u32)option == PR_GET_SECCOMP)
		return t->kernel->seccomp.filter ? SECCOMP_MODE_FILTER : TW_SECCOMP_PASS;
	if ((u32)option != PR_SET_SECCOMP)
		return TW_SECCOMP_PASS;
	if (mode == SECCOMP_MODE_STRICT)
		return set_strict(t);
	return mode == SECCOMP_MODE_FILTER ? set_filter(t, 0, args) : ERROR_EINVAL;
}

/* ---- passing on ---- */

/* The filter installed right after `f`; NULL: the first one. So all are visited, oldest first. */
static const struct tw_filter *next_newer(const struct tw_filter *newest, const struct tw_filter *f)
{
	const struct tw_filter *n = newest;
	if (n == f)
		return NULL;
	while (n && n->before != f)
		n = n->before;
	return n;
}

i64 tw_seccomp_tell(const struct thread *t)
{
	if (!t->kernel->seccomp.filter)
		return -1;
	i64 fd = tw_sys(__NR_memfd_create, "seccomp", 0, 0);
	for (const struct tw_filter *f = NULL; !tw_failed(fd) && (f = next_newer(t->kernel->seccomp.filter, f));) {
		u64 bytes = sizeof *f + f->n * sizeof *f->code;
		if (tw_sys(__NR_write, fd, f, bytes) != (i64)bytes) {
			tw_sys(__NR_close, fd, 0, 0);
			return ERROR_ENOMEM;
		}
	}
	return fd;
}

void tw_seccomp_inherit(struct tw_seccomp *s, int fd)
{
	struct tw_filter head;
	tw_sys(__NR_lseek, fd, 0, 0 /* SEEK_SET */);
	while (tw_sys(__NR_read, fd, &head, sizeof head) == sizeof head) {
		struct tw_filter *f = allocate(head.n);
		if (!f) { /* no program may run without */
			tw_sys(__NR_exit_group, 125, 0, 0);
			__builtin_unreachable();
		}
		f->n = head.n;
		tw_sys(__NR_read, fd, f->code, head.n * sizeof *f->code);
		f->before = s->filter;
		s->filter = f;
	}
	tw_sys(__NR_close, fd, 0, 0);
}

i64 tw_seccomp_make_real(const struct tw_seccomp *s)
{
	if (s->filter && !has_privilege())
		tw_sys6(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); /* another thread had it when it gave this one its filters */
	for (const struct tw_filter *f = NULL; (f = next_newer(s->filter, f));) {
		const struct sock_fprog p = {(u16)f->n, (struct sock_filter *)f->code};
		i64 r = tw_sys(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p);
		if (tw_failed(r))
			return r;
	}
	return 0;
}
