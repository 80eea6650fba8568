# What a program has asked for at sigaction and signal it finds there again, flags and all, also where a handler has been called that is for once only (SA_RESETHAND).
. "$(dirname "$0")/../cc.sh"
need_command gcc
cat >actions.c <<'X'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
static void show(const char *what, int n)
{
	struct sigaction a = {0};
	sigaction(n, NULL, &a);
	printf("%s %x %s %d\n", what, (unsigned)a.sa_flags, a.sa_handler == SIG_DFL ? "default" : a.sa_handler == SIG_IGN ? "ignored" : "handler", sigismember(&a.sa_mask, SIGUSR2));
}
static int count;
static void plain(int n)
{
	count++;
	show("in plain", n);
}
static void with_info(int n, siginfo_t *i, void *c)
{
	(void)c;
	count += i->si_signo == n;
	show("in with_info", n);
}
static void again(int n)
{
	count++;
	show("in again", n);
	signal(n, again);
	show("set again", n);
}
int main(void)
{
	static const int flags[] = {0, SA_RESTART, SA_RESETHAND, SA_RESETHAND | SA_NODEFER, SA_ONSTACK | SA_NOCLDSTOP, 0x400 | 0x800 | SA_RESTART};
	static const int numbers[] = {SIGUSR1, SIGSEGV, SIGABRT};
	for (unsigned k = 0; k < 3; k++) {
		const int n = numbers[k];
		show("first", n);
		for (unsigned f = 0; f < sizeof flags / sizeof *flags; f++)
			for (int info = 0; info < 3; info++) {
				struct sigaction a = {0}, old;
				sigaddset(&a.sa_mask, SIGUSR2);
				a.sa_flags = flags[f] | (info ? SA_SIGINFO : 0);
				if (info == 1)
					a.sa_sigaction = with_info;
				else
					a.sa_handler = info ? SIG_DFL : plain;
				sigaction(n, &a, &old);
				printf("before: %x\n", (unsigned)old.sa_flags);
				show("set", n);
				if (info < 2)
					raise(n);
				show("after", n);
				signal(n, SIG_IGN);
				raise(n);
				show("ignored", n);
			}
		signal(n, again);
		show("signal", n);
		raise(n);
		raise(n);
		sysv_signal(n, plain);
		show("sysv", n);
		raise(n);
		show("sysv after", n);
		signal(n, SIG_DFL);
		show("end", n);
	}
	printf("%d\n", count);
	return 3;
}
X
for CC_OPTIONS in "" --full=guard; do
	instrumented actions gcc -O2 actions.c
	runs_as_plain actions
done
