/*
 * Running the collector in a process of its own, aside from the one that the user started (record --wait=first). The
 * latter, the foreground, starts the program, is its parent, and may end when the program does, while recording of
 * what the program left behind continues.
 *
 * The aside process has its own session, so neither a terminal nor a signal to the foreground's group reaches it. It
 * has the foreground's standard streams until it is left alone, and none of its other files. SIGTERM, SIGHUP, SIGINT
 * and SIGQUIT, which can only be sent deliberately, stop the recording.
 */
#ifndef TW_ASIDE_H
#define TW_ASIDE_H

#include <stdint.h>
#include <sys/types.h>

struct tw_aside {
	pid_t collector; /* 0 there */
	int fd;          /* to the other process */
};

/* What became of the program. */
struct tw_aside_end {
	int why; /* as of tw_launch_run */
	int wait_status;
	uint64_t duration_ns;
};

enum { TW_ASIDE_PATH = 64 };

/* Creates the aside process. Returns in both, with 0, or with the errno of the failure. While this process has one thread. */
int tw_aside_begin(struct tw_aside *a);

/*
 * Aside: the channel can be opened at `path`; waits for the end of the program. From now on `stop(context)` is called
 * for the signals above, in the handler. A foreground that is killed counts as a program that ended well.
 */
void tw_aside_serve(struct tw_aside *a, const char *path, void (*stop)(void *context), void *context, struct tw_aside_end *end);

/* Aside: the foreground may end. The standard streams are closed. */
void tw_aside_leave(struct tw_aside *a);

/* Foreground: where to open the channel. -1, or the exit status of an aside process that could not start. */
int tw_aside_path(struct tw_aside *a, char path[TW_ASIDE_PATH]);

/*
 * Foreground: the program has ended. Waits until the aside process has ended, too, and returns its exit status; or
 * until it may be left alone: 0.
 */
int tw_aside_end(struct tw_aside *a, const struct tw_aside_end *end);

/* Foreground: stops the recording. From a signal handler too. */
void tw_aside_stop(const struct tw_aside *a);

#endif
