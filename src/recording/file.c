/* Files: whole reads and writes, and names. */
#include "recording/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int tw_write_all(int fd, struct iovec *iov, int n, const char *name)
{
	while (n) {
		ssize_t done = writev(fd, iov, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return tw_fail(TW_ERR_SYSTEM, "%s: %s", name, strerror(errno));
		while (n && (size_t)done >= iov->iov_len) {
			done -= (ssize_t)iov->iov_len;
			iov++;
			n--;
		}
		if (n) {
			iov->iov_base = (char *)iov->iov_base + done;
			iov->iov_len -= (size_t)done;
		}
	}
	return TW_OK;
}

int tw_thread_file(const char *name, uint32_t *serial)
{
	char same[32];
	if (sscanf(name, "thread-%9u", serial) != 1)
		return 0;
	snprintf(same, sizeof same, TW_THREAD_FILE, *serial);
	return !strcmp(same, name);
}

int tw_read_at(int fd, void *to, size_t n, uint64_t offset, const char *name)
{
	size_t have = 0;
	while (have < n) {
		ssize_t got = pread(fd, (char *)to + have, n - have, (off_t)(offset + have));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return tw_fail(TW_ERR_SYSTEM, "%s: %s", name, strerror(errno));
		if (!got)
			return tw_fail(TW_ERR_TRUNCATED, "%s ends at offset %llu", name, (unsigned long long)(offset + have));
		have += (size_t)got;
	}
	return TW_OK;
}
