# A program that defines, for itself, one of the functions that the run-time part has in the C library's place, has its own.
. "$(dirname "$0")/../cc.sh"
need_command gcc
cat >a.c <<'X2'
#include <signal.h>
#include <stdio.h>
typedef void (*handler_t)(int);
static volatile int seen;
static int asked;
handler_t bsd_signal(int number, handler_t handler)
{
	struct sigaction to = {.sa_handler = handler}, from;
	asked++;
	sigaction(number, &to, &from);
	return from.sa_handler;
}
#ifdef MORE
handler_t signal(int number, handler_t handler)
{
	return bsd_signal(number, handler);
}
int pthread_sigmask(int how, const sigset_t *to, sigset_t *from)
{
	asked++;
	return sigprocmask(how, to, from);
}
#endif
static void on_signal(int number)
{
	seen += number;
}
int main(void)
{
	sigset_t none;
	sigemptyset(&none);
	bsd_signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	pthread_sigmask(SIG_BLOCK, &none, NULL);
	raise(SIGUSR1);
	raise(SIGUSR2);
	printf("%d %d\n", seen, asked);
	return 0;
}
X2
for flags in "" "-DMORE -rdynamic" "-DMORE -static"; do
	instrumented a gcc -O2 $flags a.c
	runs_as_plain a
done
CC_OPTIONS=--full=guard instrumented a gcc -O2 -DMORE a.c
runs_as_plain a
