#include "channel/barred.h"
#include "base/channel.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int tw_barred_listen(const char *channel)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, TW_BARRED "%s", channel);
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || !bind(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
		return fd;
	close(fd);
	return -1;
}

unsigned tw_barred_count(int fd, char *program, size_t size)
{
	char path[TW_PROGRAM_PATH];
	unsigned count = 0;
	for (ssize_t n; fd >= 0 && (n = recv(fd, path, sizeof path - 1, 0)) >= 0; count++) {
		path[n] = 0;
		if (!count)
			snprintf(program, size, "%s", path);
	}
	return count;
}
