/* Names of formats, sinks, follow modes and engine counters on the command line and in the header. */
#include "recording/recording.h"

#include <string.h>

static const char *const formats[TW_NFORMATS] = {"none",           "dep",   "call",    "dep-c",  "bb_pc", "mem_addr",
                                                 "bb_pc+mem_addr", "dep06", "dep06-c", "cf_bit", "dep-s"};
static const char *const sinks[] = {"file", "count"};
static const char *const follows[] = {"all", "none"};

static const char *const counts[TW_COUNTS] = {
    [TW_COUNT_FRAGMENTS] = "fragments",
    [TW_COUNT_SUPERBLOCKS] = "superblocks",
    [TW_COUNT_INSNS] = "instructions",
    [TW_COUNT_CODE_BYTES] = "code_bytes",
    [TW_COUNT_LOOKUPS] = "lookups",
    [TW_COUNT_BRIDGES] = "bridges",
    [TW_COUNT_CACHE_BYTES] = "cache_bytes",
    [TW_COUNT_LINKS] = "links",
    [TW_COUNT_STALE] = "stale",
    [TW_COUNT_EMPTIED] = "emptied",
    [TW_COUNT_SYSCALLS] = "syscalls",
    [TW_COUNT_EMULATED] = "emulated",
    [TW_COUNT_UNLINKED] = "unlinked",
    [TW_COUNT_NOT_FOUND] = "not_found",
    [TW_COUNT_RESUMED] = "resumed",
    [TW_COUNT_TAKEN] = "taken",
    [TW_COUNT_TAKEN_PIECES] = "taken_pieces",
    [TW_COUNT_LEFT] = "left",
    [TW_COUNT_LEFT_BYTES] = "left_bytes",
    [TW_COUNT_BUFFERS] = "buffers",
    [TW_COUNT_WAITS] = "waits",
    [TW_COUNT_FINDING_CYCLES] = "finding_cycles",
    [TW_COUNT_JOINING_CYCLES] = "joining_cycles",
    [TW_COUNT_HANDING_CYCLES] = "handing_cycles",
    [TW_COUNT_WAITING_CYCLES] = "waiting_cycles",
    [TW_COUNT_MOST_PIECES] = "most_pieces",
    [TW_COUNT_MOST_CACHE] = "most_cache_bytes",
    [TW_COUNT_MOST_STUBS] = "most_stub_bytes",
    [TW_COUNT_MOST_HEAP] = "most_heap_bytes",
};

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

const char *tw_count_name(unsigned count)
{
	return counts[count];
}
