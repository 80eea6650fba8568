/*
 * `trackway record --pid`: the process that is recorded runs already. What it is, taking it under the engine, and waiting for its end.
 */
#ifndef TW_ATTACHED_H
#define TW_ATTACHED_H

#include "attach/attach.h"
#include "attach/detach.h"
#include "channel/command.h"

/* Parses the number of a process; 0: it is none. */
pid_t tw_attached_parse(const char *text);

/* What it runs: its file, its name and its arguments. 0, or -1 with a sentence in p->why: it cannot be taken. Free *p in either case (tw_command_free). */
int tw_attached_program(pid_t pid, struct tw_command *p);

/* Its working directory. 0, or -1: it cannot be read. */
int tw_attached_directory(pid_t pid, char *to, size_t size);

/* Has it fewer capabilities than this process? Under /proc it may not open then what this process has open. */
int tw_attached_is_bare(pid_t pid);

/* Lets all recorded processes go on natively. What was done, or why not all can be, is put into `said`. 0 or -1. */
int tw_attached_let_go(const struct tw_control *control, char *said, size_t size);

/* What became of it. */
struct tw_attached_end {
	int failed;      /* it was not taken; a sentence has been printed */
	int stopped;     /* this process was asked to stop (SIGINT, SIGTERM, SIGHUP, SIGQUIT) before it had ended */
	int left;        /* it goes on natively */
	int wait_status; /* as from waitpid(2), where the kernel still said so */
};

/* Takes it and waits. `left`: file descriptor that can be read when it goes on natively. */
struct tw_attached_end tw_attached_run(const struct tw_attach_options *options, int left, int quiet);

#endif
