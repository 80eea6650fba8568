#include "cli/engine.h"

static const struct row {
	const char *heading; /* before it; or NULL */
	const char *title, *meaning;
	enum tw_count count;
} rows[] = {
    {"made", "fragments", "translations of blocks and paths", TW_COUNT_FRAGMENTS},
    {NULL, "  superblocks", "of them: paths and loops that proved hot", TW_COUNT_SUPERBLOCKS},
    {NULL, "  instructions", "of the program, in all fragments", TW_COUNT_INSNS},
    {NULL, "  bytes", "of the program's code, in all fragments", TW_COUNT_CODE_BYTES},
    {NULL, "lookups", "for targets of indirect branches", TW_COUNT_LOOKUPS},
    {NULL, "bridges", "where fragment numbers change their upper half", TW_COUNT_BRIDGES},
    {NULL, "bytes made", "in the code cache", TW_COUNT_CACHE_BYTES},
    {NULL, "links", "direct branches that lead to a fragment", TW_COUNT_LINKS},
    {NULL, "stale", "fragments whose code changed or went", TW_COUNT_STALE},
    {NULL, "emptied", "times that a process threw all away", TW_COUNT_EMPTIED},
    {"left the code cache", "system calls", "", TW_COUNT_SYSCALLS},
    {NULL, "not linked", "direct branches that led nowhere yet", TW_COUNT_UNLINKED},
    {NULL, "not found", "targets that no lookup had", TW_COUNT_NOT_FOUND},
    {NULL, "emulated", "instructions that the engine does itself", TW_COUNT_EMULATED},
    {NULL, "resumed", "after signals and the like", TW_COUNT_RESUMED},
    {"handed on", "taken", "processes that went on with what others made", TW_COUNT_TAKEN},
    {NULL, "  pieces", "of code that they found there", TW_COUNT_TAKEN_PIECES},
    {NULL, "left", "processes that left theirs to others", TW_COUNT_LEFT},
    {NULL, "  bytes", "that they left", TW_COUNT_LEFT_BYTES},
    {NULL, "buffers", "that were filled", TW_COUNT_BUFFERS},
    {NULL, "waits", "for the collector to give one back", TW_COUNT_WAITS},
    {"the most of one process", "pieces", "of code: fragments, lookups, bridges", TW_COUNT_MOST_PIECES},
    {NULL, "code cache", "bytes", TW_COUNT_MOST_CACHE},
    {NULL, "exits", "bytes of what leads out of it", TW_COUNT_MOST_STUBS},
    {NULL, "tables", "bytes of what is known of it", TW_COUNT_MOST_HEAP},
};

static const struct {
	const char *title, *meaning;
	enum tw_count count;
} times[] = {
    {"finding", "finding, making and linking fragments", TW_COUNT_FINDING_CYCLES},
    {"joining", "making superblocks, looking for their paths", TW_COUNT_JOINING_CYCLES},
    {"handing on", "taking and leaving translations", TW_COUNT_HANDING_CYCLES},
    {"waiting", "for the collector", TW_COUNT_WAITING_CYCLES},
};

static int is_counted(const struct tw_recording_info *info)
{
	for (unsigned k = 0; k < TW_COUNTS; k++)
		if (info->engine[k])
			return 1;
	return 0;
}

/* Times are known where the counter's rate is. */
static void print_times(const struct tw_recording_info *info)
{
	if (!info->tsc_hz)
		return;
	puts("\ntime by the clock, over all threads, also while they waited for a processor");
	for (unsigned k = 0; k < sizeof times / sizeof *times; k++)
		printf("%-16s%18.3f s  %s\n", times[k].title, (double)info->engine[times[k].count] / (double)info->tsc_hz,
		       times[k].meaning);
}

void tw_engine_print(const struct tw_recording_info *info)
{
	const uint64_t *n = info->engine;
	if (!is_counted(info)) {
		puts("It is not known what the engine did: there was none, or the recording was not closed by who made it.");
		return;
	}
	for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++) {
		const struct row *r = &rows[k];
		if (r->count == TW_COUNT_MOST_PIECES)
			print_times(info);
		if (r->heading)
			printf("%s%s\n", k ? "\n" : "", r->heading);
		printf("%-16s%20llu%s%s\n", r->title, (unsigned long long)n[r->count], r->meaning[0] ? "  " : "", r->meaning);
	}
	if (n[TW_COUNT_MOST_PIECES])
		printf("%-16s%20.0f  bytes of all of these\n", "for each piece",
		       (double)(n[TW_COUNT_MOST_CACHE] + n[TW_COUNT_MOST_STUBS] + n[TW_COUNT_MOST_HEAP]) / (double)n[TW_COUNT_MOST_PIECES]);
}

void tw_engine_json(struct tw_json *j, const struct tw_recording_info *info)
{
	if (!is_counted(info))
		return;
	tw_json_open(j, "engine", '{');
	for (unsigned k = 0; k < TW_COUNTS; k++)
		tw_json_number(j, tw_count_name(k), info->engine[k]);
	tw_json_close(j, '}');
}
