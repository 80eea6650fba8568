# The alternate signal stack as programs see it: from sigaltstack, and in the frames of their handlers, whose word for it is taken when they return.
. "$(dirname "$0")/../lib.sh"
cc_program alternate -D_GNU_SOURCE -pthread <<'END'
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#define AUTODISARM (1u << 31)
enum { SIZE = 65536 };
static char *alternate, *other;
static void *given; /* by the handler: what its frame is to say of the stack; and how */
static int given_flags, give;
static void show(const char *what)
{
	stack_t s;
	const char here = 0;
	sigaltstack(NULL, &s);
	printf("%s: flags %x, size %zu, %s, %s it\n", what, (unsigned)s.ss_flags, s.ss_size, s.ss_sp == alternate ? "first" : s.ss_sp == other ? "other" : "none",
	       &here >= alternate && &here < alternate + SIZE ? "on" : "off");
}
static void set(void *at, size_t size, unsigned flags)
{
	const stack_t s = {at, (int)flags, size};
	errno = 0;
	const int r = sigaltstack(&s, NULL);
	printf("set %zu, %x: %d, %d\n", size, flags, r, errno);
}
static int is_disarmed(const ucontext_t *u)
{
	return (unsigned)u->uc_stack.ss_flags & AUTODISARM;
}
static void handler(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	(void)info;
	printf("signal %d, frame: flags %x, size %zu\n", signo, (unsigned)u->uc_stack.ss_flags, u->uc_stack.ss_size);
	show("in the handler");
	if (!is_disarmed(u)) /* (how that ends differs between kernels) */
		set(alternate, SIZE, 0);
	if (give) {
		u->uc_stack.ss_sp = given;
		u->uc_stack.ss_flags = given_flags;
		u->uc_stack.ss_size = (size_t)give;
	}
	give = 0;
	if (signo == SIGUSR2)
		raise(SIGUSR1); /* on the stack already */
}
static void run(const char *what, int signo)
{
	puts(what);
	raise(signo);
	show("after");
}
static void *thread(void *unused)
{
	run("thread", SIGUSR1);
	set(other, SIZE, 0);
	run("thread with one", SIGUSR1);
	return unused;
}
int main(void)
{
	const struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	pthread_t t;
	setvbuf(stdout, NULL, _IOLBF, 0);
	alternate = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	other = alternate + SIZE;
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR2, &a, NULL);
	run("none", SIGUSR1);
	run("set in the handler", SIGUSR1);
	set(alternate, SIZE, SS_ONSTACK);
	run("onstack", SIGUSR2);
	set(alternate, SIZE, AUTODISARM);
	run("autodisarm", SIGUSR1);
	set(alternate, SIZE, SS_DISABLE);
	run("disabled", SIGUSR1);
	set(alternate, SIZE, SS_DISABLE);
	given = other, give = SIZE;
	run("another by the frame", SIGUSR1);
	given = alternate, give = 100;
	run("too small by the frame", SIGUSR1);
	set(alternate, 100, 0);
	set(alternate, SIZE, 77);
	show("refused");
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	if (!fork()) {
		run("fork", SIGUSR1);
		_exit(0);
	}
	wait(NULL);
	return 3;
}
END
whole ./alternate
RECORD_OPTIONS=(-f none)
same_as_native ./alternate
