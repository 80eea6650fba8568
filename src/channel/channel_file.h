/*
 * The channel as memory: a file without a name, which the collector maps, and traced processes by way of /proc.
 */
#ifndef TW_CHANNEL_FILE_H
#define TW_CHANNEL_FILE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct tw_collector;
struct tw_sizes;

/* Makes and maps it: fills fd, inode, base, control and path. An error has been said (tw_fail). */
int tw_channel_map(struct tw_collector *c, const struct tw_sizes *sizes);

/*
 * Where traced processes open the memfd, as this process or thread has it. It is always as long: it stands on the stack of every program that is executed, whose addresses would otherwise change
 * with the number of digits.
 */
void tw_channel_path(const struct tw_collector *c, uint32_t of, char *to, size_t size);

/* The mutex by which engines see that the collector lives: robust, and shared between processes. Whoever collects holds it. */
int tw_channel_make_life(struct tw_collector *c);
pthread_mutex_t *tw_channel_life(struct tw_collector *c);

#endif
