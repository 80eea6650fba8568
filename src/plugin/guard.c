#include "plugin/guard.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Thread_local const char *running;

static struct {
	const char *command;
	int status;
} guard;

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

/* The thread's own stack may be what has run out. */
static char stack[32768] __attribute__((aligned(16)));

/* The sentence is put together by hand: the analyzer may have broken whatever else could do it. */
static void say(const char *name, int number)
{
	char text[512];
	const char *parts[] = {"trackway ", guard.command, ": ", name, ": it crashed: SIG", sigabbrev_np(number), "\n"};
	size_t n = 0;
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		for (const char *p = parts[i] ? parts[i] : "?"; *p && n < sizeof text; p++)
			text[n++] = *p;
	if (write(STDERR_FILENO, text, n) < 0)
		_exit(guard.status);
}

static void on_signal(int number)
{
	if (running) {
		say(running, number);
		_exit(guard.status);
	}
	signal(number, SIG_DFL);
	raise(number);
}

void tw_guard_install(const char *command, int status)
{
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER};
	guard.command = command;
	guard.status = status;
	sigaltstack(&alternate, NULL);
	for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
		sigaction(fatal[i], &act, NULL);
}

const char *tw_guard_enter(const char *name)
{
	const char *before = running;
	running = name;
	return before;
}
