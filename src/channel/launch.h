/*
 * Starting the engine on a program and waiting for it.
 */
#ifndef TW_LAUNCH_H
#define TW_LAUNCH_H

#include "channel/command.h"
#include "channel/sizes.h"

/*
 * First thing, while this process has one thread: notes its initial signal mask and ignored signals, and ignores
 * SIGPIPE and SIGXFSZ.
 */
void tw_launch_prepare(void);

/* What the channel is to have: see struct tw_limits. */
struct tw_launch_wants {
	bool tallies, many_buffers;
};

/*
 * Next, still with one thread: chooses the sizes of the channel and the engine, and raises this process's memory
 * limits, which the program inherits, by what the engine takes. If they cannot be raised the engine is smaller and
 * within them, and so is this process. Returns 0, or -1 if there is too little nevertheless: sizes->space and so on
 * say what is needed.
 */
int tw_launch_limits(const struct tw_launch_wants *wants, struct tw_sizes *sizes);

/*
 * Finds the engine: next to this program's own file, or in ../lib/trackway from there. Returns its path, to be freed,
 * or NULL if it is in neither place.
 */
char *tw_launch_engine(void);

/*
 * Runs `program` under the engine at `engine`, which opens the channel at `channel`, and waits until it has ended.
 * The program gets this process's environment, its open files except those with close-on-exec, and the signal mask
 * and dispositions noted by tw_launch_prepare. Meanwhile this process ignores SIGINT and SIGQUIT, which a terminal
 * sends to both, and forwards SIGTERM and SIGHUP; afterwards, until it ends, it calls `stop(context)` for each of the
 * four, in the signal handler. Returns 0 with *wait_status as from waitpid(2), or the errno for which the engine
 * could not be started.
 */
struct tw_launch {
	const char *engine; /* NULL: the program itself, which is instrumented, runs natively */
	const char *channel;
	const struct tw_command *program;
	void (*stop)(void *context);
	void *context;
	int left; /* file descriptor that becomes readable when the program continues natively and need not be waited for; -1: none */
	struct tw_asked *asked; /* answers requests meanwhile; NULL: others do, or nobody */
};
int tw_launch_run(const struct tw_launch *launch, int *wait_status);

/* For a program that continues natively; its wait status is then TW_LAUNCH_LEFT. Waits for its end, and forwards signals as before. */
#define TW_LAUNCH_LEFT (-1)
int tw_launch_wait(void);

/* There is nothing to stop any more: the four signals are ignored from now on. */
void tw_launch_end(void);

#endif
