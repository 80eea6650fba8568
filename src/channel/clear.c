#include "channel/clear.h"
#include "channel/demux.h"
#include "recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* A fragment that was moved to the slack has left stores after the end of the data. */
uint32_t tw_clear_reach(uint32_t bytes)
{
	return bytes < TW_BUFFER_BYTES - TW_MAX_RECORD ? bytes + TW_MAX_RECORD : TW_DEMUX_DATA;
}

void tw_clear_buffer(uint8_t *data, uint32_t bytes, uint32_t slack_end)
{
	memset(data, 0, tw_clear_reach(bytes));
	if (slack_end)
		memset(tw_channel_slack(data), 0, TW_SLACK_BYTES);
}

int tw_clear_range(int fd, uint64_t at, uint64_t bytes)
{
	int failed = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes);
	return failed ? tw_fail(TW_ERR_SYSTEM, "shared memory: %s", strerror(errno)) : TW_OK;
}
