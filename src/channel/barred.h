/*
 * Programs that cannot open the channel: they are executed as another user, or where there is no /proc. Those that trackway cc has compiled say so at a socket, whose name they have from the
 * channel's (TW_ENV_CHANNEL).
 */
#ifndef TW_CHANNEL_BARRED_H
#define TW_CHANNEL_BARRED_H

#include <stddef.h>

/* Listens. Returns a file descriptor, or -1: then nobody is heard. */
int tw_barred_listen(const char *channel);

/* How many have said so until now, as far as they could be kept; the path of the first is put into `program`: anybody may have sent it. */
unsigned tw_barred_count(int fd, char *program, size_t size);

#endif
