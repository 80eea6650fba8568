/*
 * The channel as memory: an unnamed file that the collector maps, and that traced processes open through /proc.
 */
#ifndef TW_CHANNEL_FILE_H
#define TW_CHANNEL_FILE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct tw_collector;
struct tw_sizes;

/* Makes and maps it: fills in fd, inode, base, control and path. Errors have been reported (tw_fail). */
int tw_channel_map(struct tw_collector *c, const struct tw_sizes *sizes);

/*
 * Path under which traced processes open the memfd, through this process or thread. Its length is constant: it is on
 * the stack of every program that is executed, whose addresses would otherwise depend on the number of digits.
 */
void tw_channel_path(const struct tw_collector *c, uint32_t of, char *to, size_t size);

/* The mutex that tells engines that the collector lives: robust, and shared between processes. The collecting process holds it. */
int tw_channel_make_life(struct tw_collector *c);
pthread_mutex_t *tw_channel_life(struct tw_collector *c);

#endif
