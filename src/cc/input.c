#include "cc/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT ".input" /* among the temporary files */

static int is_input(const struct tw_cc_drive *d, size_t k)
{
	return tw_cc_is_compiled(d->command.kind[k]) && !strcmp(d->command.word[k], "-");
}

static int write_all(int to, const char *bytes, ssize_t n)
{
	for (ssize_t done, at = 0; at < n; at += done)
		if ((done = write(to, bytes + at, (size_t)(n - at))) < 0)
			return -1;
	return 0;
}

static int copy(int from, int to)
{
	char bytes[1 << 16];
	ssize_t n;
	while ((n = read(from, bytes, sizeof bytes)) > 0)
		if (write_all(to, bytes, n))
			return -1;
	return n < 0 ? -1 : 0;
}

static int keep(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	const int failed = fd < 0 || copy(STDIN_FILENO, fd) || dup2(fd, STDIN_FILENO) < 0;
	if (failed)
		fprintf(stderr, "trackway cc: standard input: %s\n", strerror(errno));
	if (fd >= 0)
		close(fd);
	return failed ? -1 : 0;
}

int tw_cc_input_keep(const struct tw_cc_drive *d)
{
	size_t k = d->command.compiler;
	while (k < d->command.n && !is_input(d, k))
		k++;
	if (k == d->command.n)
		return 0;
	char *path = tw_cc_in_directory(d, 0, KEPT);
	const int error = keep(path);
	free(path);
	return error;
}

char *tw_cc_input_path(const struct tw_cc_drive *d, size_t k)
{
	return is_input(d, k) ? tw_cc_in_directory(d, 0, KEPT) : strdup(d->command.word[k]);
}

void tw_cc_input_again(const struct tw_cc_drive *d, size_t k)
{
	if (is_input(d, k))
		lseek(STDIN_FILENO, 0, SEEK_SET);
}
