/*
 * Starting the engine on a program and waiting for it.
 */
#ifndef TW_LAUNCH_H
#define TW_LAUNCH_H

#include "channel/command.h"

/* Notes the signal mask and the ignored signals that this process was started with. First thing, while it has one thread. */
void tw_launch_prepare(void);

/* Finds the engine: beside this program's own file, else in ../lib/trackway from there. Returns its path, to be freed, or NULL if it is in
 * neither place. */
char *tw_launch_engine(void);

/*
 * Runs `program` under the engine at `engine`, which opens the channel at `channel`, and waits until it has ended. The program gets this
 * process's environment, open files but those closed on exec, and the signal mask and dispositions noted by tw_launch_prepare. Meanwhile and afterwards this process ignores
 * SIGINT and SIGQUIT, which a terminal sends to both, SIGPIPE and SIGXFSZ; it passes SIGTERM and SIGHUP on.
 * Returns 0 with *wait_status as from waitpid(2), or the errno for which the engine could not be started.
 */
int tw_launch_run(const char *engine, const char *channel, const struct tw_command *program, int *wait_status);

#endif
