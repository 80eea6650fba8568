#include "plugin/guard.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local const char *running;

static struct {
	const char *command;
	int status;
} guard;

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};

/* Prints "trackway COMMAND: NAME: " and what happened. The sentence is composed by hand: the analyzer may have broken everything else. */
static void say(const char *name, const char *what, const char *which)
{
	char text[512];
	const char *parts[] = {"trackway ", guard.command, ": ", name, ": ", what, which, "\n"};
	size_t n = 0;
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		for (const char *p = parts[i] ? parts[i] : "?"; *p && n < sizeof text; p++)
			text[n++] = *p;
	if (write(STDERR_FILENO, text, n) < 0)
		_exit(guard.status);
}

/*
 * Several threads may crash at once: one reports, the others wait for the end. A crash during the report ends the
 * process as without a guard.
 */
static void on_signal(int number)
{
	static _Atomic int is_ending;
	static _Thread_local int ends;
	if (running && !ends) {
		if (is_ending++)
			for (;;)
				pause();
		ends = 1;
		say(running, "it crashed: SIG", sigabbrev_np(number));
		_exit(guard.status);
	}
	signal(number, SIG_DFL);
	raise(number);
}

static void on_end(int status, void *unused)
{
	char number[16];
	(void)unused;
	if (!running)
		return;
	snprintf(number, sizeof number, "%d)", status & 0xff);
	say(running, "it ended the process with exit(", number);
	_exit(guard.status);
}

/* ---- stacks for the handlers: a thread's own may have overflowed ---- */

enum { STACK = 32768 };
static pthread_key_t stacks;
static _Thread_local int has_stack;

static void drop_stack(void *stack)
{
	const stack_t none = {.ss_flags = SS_DISABLE};
	sigaltstack(&none, NULL);
	free(stack);
}

/* Where there is no memory the thread goes without. */
static void take_stack(void)
{
	void *stack = malloc(STACK);
	const stack_t alternate = {.ss_sp = stack, .ss_size = STACK};
	has_stack = 1;
	if (stack && !sigaltstack(&alternate, NULL))
		pthread_setspecific(stacks, stack);
	else
		free(stack);
}

static void install_once(void)
{
	pthread_key_create(&stacks, drop_stack);
	on_exit(on_end, NULL);
}

void tw_guard_install(const char *command, int status)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};
	guard.command = command;
	guard.status = status;
	pthread_once(&once, install_once);
	for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
		sigaction(fatal[i], &act, NULL);
}

const char *tw_guard_enter(const char *name)
{
	const char *before = running;
	if (name && guard.command && !has_stack)
		take_stack();
	running = name;
	return before;
}
