/*
 * `trackway record --pid`: the recorded process is running already. Finds out what it is, puts it under the engine,
 * and waits for its end.
 */
#ifndef TW_ATTACHED_H
#define TW_ATTACHED_H

#include "attach/attach.h"
#include "attach/detach.h"
#include "channel/command.h"

/* Parses the number of a process; 0: it is none. */
pid_t tw_attached_parse(const char *text);

/*
 * What it runs: its file, name and arguments. 0, or -1 with a sentence in p->why: it cannot be recorded. Free *p in
 * either case (tw_command_free).
 */
int tw_attached_program(pid_t pid, struct tw_command *p);

/* Its working directory. 0, or -1: it cannot be read. */
int tw_attached_directory(pid_t pid, char *to, size_t size);

/* Has it fewer capabilities than this process? Then it may be unable to open, under /proc, what this process has open. */
int tw_attached_is_bare(pid_t pid);

/* Lets all recorded processes continue natively. `said`: what was done, or why it failed for some. 0 or -1. */
int tw_attached_let_go(const struct tw_control *control, char *said, size_t size);

/* What became of it. */
struct tw_attached_end {
	int failed;      /* it was not taken; a sentence has been printed */
	int stopped;     /* this process was asked to stop (SIGINT, SIGTERM, SIGHUP, SIGQUIT) before the other had ended */
	int left;        /* it goes on natively */
	int wait_status; /* as from waitpid(2), where the kernel still said so */
};

/* Puts it under the engine and waits. `left`: file descriptor that becomes readable when it continues natively. */
struct tw_attached_end tw_attached_run(const struct tw_attach_options *options, int left, int quiet);

#endif
