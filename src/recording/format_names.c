/* How the command line and the header call formats, sinks and what is followed. */
#include "recording/recording.h"

#include <string.h>

static const char *const formats[TW_NFORMATS] = {"none",           "dep",   "call",    "dep-c", "bb_pc", "mem_addr",
                                                 "bb_pc+mem_addr", "dep06", "dep06-c", "cf_bit"};
static const char *const sinks[] = {"file", "count"};
static const char *const follows[] = {"all", "none"};

static int find(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

const char *tw_format_name(uint32_t format)
{
	return format < TW_NFORMATS ? formats[format] : "unknown";
}

int tw_format_by_name(const char *name)
{
	return find(formats, TW_NFORMATS, name);
}

const char *tw_sink_name(uint32_t sink)
{
	return sink < 2 ? sinks[sink] : "unknown";
}

int tw_sink_by_name(const char *name)
{
	return find(sinks, 2, name);
}

const char *tw_follow_name(uint32_t follow)
{
	return follow < 2 ? follows[follow] : "unknown";
}

int tw_follow_by_name(const char *name)
{
	return find(follows, 2, name);
}
