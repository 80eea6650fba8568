/*
 * The channel as memory: a file without a name, which the collector maps, and traced processes by way of /proc.
 */
#ifndef TW_CHANNEL_FILE_H
#define TW_CHANNEL_FILE_H

#include <pthread.h>

struct tw_collector;
struct tw_sizes;

/* Makes and maps it: fills fd, inode, base, control and path. An error has been said (tw_fail). */
int tw_channel_map(struct tw_collector *c, const struct tw_sizes *sizes);

/* The mutex by which engines see that the collector lives: robust, and shared between processes. Whoever collects holds it. */
int tw_channel_make_life(struct tw_collector *c);
pthread_mutex_t *tw_channel_life(struct tw_collector *c);

#endif
