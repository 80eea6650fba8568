/*
 * Programs that cannot open the channel: they are executed as another user, or without /proc. Those compiled by
 * trackway cc report this at a socket whose name they derive from the channel's (TW_ENV_CHANNEL).
 */
#ifndef TW_CHANNEL_BARRED_H
#define TW_CHANNEL_BARRED_H

#include <stddef.h>

/* Listens. Returns a file descriptor, or -1: reports are not received. */
int tw_barred_listen(const char *channel);

/* How many have reported so far, as far as reports could be kept; stores the path of the first in `program`: anybody may have sent it. */
unsigned tw_barred_count(int fd, char *program, size_t size);

#endif
