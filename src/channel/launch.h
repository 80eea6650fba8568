/*
 * Starting the engine on a program and waiting for it.
 */
#ifndef TW_LAUNCH_H
#define TW_LAUNCH_H

#include "channel/command.h"
#include "channel/sizes.h"

/*
 * First thing, while this process has one thread: notes the signal mask and the ignored signals that it was started with, and ignores SIGPIPE and SIGXFSZ.
 */
void tw_launch_prepare(void);

/* What the channel is to have: see struct tw_limits. */
struct tw_launch_wants {
	bool tallies, many_buffers;
};

/*
 * Next, still with one thread: chooses how large the channel and the engine are, and raises this process's limits on memory, which the program inherits, by what the
 * engine takes. Where they cannot be raised the engine is smaller and within them, and so is this process. Returns 0, or -1 where
 * there is too little all the same: sizes->space and so on say what there should be.
 */
int tw_launch_limits(const struct tw_launch_wants *wants, struct tw_sizes *sizes);

/* Finds the engine: beside this program's own file, else in ../lib/trackway from there. Returns its path, to be freed, or NULL if it is in
 * neither place. */
char *tw_launch_engine(void);

/*
 * Runs `program` under the engine at `engine`, which opens the channel at `channel`, and waits until it has ended. The program gets this
 * process's environment, open files but those closed on exec, and the signal mask and dispositions noted by tw_launch_prepare. Meanwhile this
 * process does nothing about SIGINT and SIGQUIT, which a terminal sends to both, and passes SIGTERM and SIGHUP on; afterwards, until
 * it ends, it calls `stop(context)` for each of the four, in the signal handler.
 * Returns 0 with *wait_status as from waitpid(2), or the errno for which the engine could not be started.
 */
struct tw_launch {
	const char *engine; /* NULL: the program itself, which is instrumented, is run natively */
	const char *channel;
	const struct tw_command *program;
	void (*stop)(void *context);
	void *context;
	int left; /* file descriptor that can be read when the program goes on natively, and is to be waited for no more; -1: none */
	struct tw_asked *asked; /* who asks meanwhile is answered; NULL: by others, or not at all */
};
int tw_launch_run(const struct tw_launch *launch, int *wait_status);

/* Of a program that goes on natively: TW_LAUNCH_LEFT is its wait status then. Waits for its end; meanwhile signals are passed on to it as before. */
#define TW_LAUNCH_LEFT (-1)
int tw_launch_wait(void);

/* There is nothing to stop any more: from now on the four signals are ignored. */
void tw_launch_end(void);

#endif
