#include "cli/options.h"
#include "cli/cli.h"
#include "recording/recording.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int tw_parse_number(const char *text, uint64_t most, uint64_t *out)
{
	char *end;
	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || errno || n > most)
		return 0;
	*out = n;
	return 1;
}

int tw_wrong_option(const char *command, char **argv)
{
	if (optopt && optopt < 256 && isprint(optopt))
		return tw_usage_error(command, "option -%c is unknown or lacks its argument", optopt);
	return tw_usage_error(command, "option '%s' is unknown or lacks its argument", argv[optind - 1]);
}

int tw_damage_report(void *context, size_t thread, size_t chunk, int error)
{
	struct tw_damage *d = context;
	char why[1024];
	fprintf(stderr, "trackway %s: thread %u, chunk %u is damaged and left out: %s\n", d->command,
	        tw_recording_thread(d->recording, thread)->serial, tw_recording_chunk_info(d->recording, thread, chunk)->sequence,
	        tw_failure_sentence(error, why, sizeof why));
	d->chunks++;
	return 0;
}

size_t tw_problems_report(const char *command, const struct tw_recording *r)
{
	size_t n = tw_recording_n_problems(r);
	for (size_t i = 0; i < n; i++) {
		const struct tw_problem *p = tw_recording_problem(r, i);
		fprintf(stderr, "trackway %s: %s: %s\n", command, p->text, tw_error_text(p->error));
	}
	return n;
}

const char tw_no_insns[] = "there is no instruction line such as 'I  04016b80,3' in it; a trace comes from "
                           "valgrind --tool=lackey --trace-mem=yes";

void tw_trace_report(const char *command, const char *name, const struct tw_trace_facts *facts)
{
	if (facts->bad) {
		fprintf(stderr, "trackway %s: %s: left out %" PRIu64 " %s", command, name, facts->bad,
		        facts->bad == 1 ? "line that is not Lackey's: line" : "lines that are not Lackey's: lines");
		for (uint64_t i = 0; i < facts->bad && i < TW_TRACE_FIRST_BAD; i++)
			fprintf(stderr, "%s %" PRIu64, i ? "," : "", facts->bad_line[i]);
		fprintf(stderr, "%s\n", facts->bad > TW_TRACE_FIRST_BAD ? ", ..." : "");
	}
	if (facts->cut_off)
		fprintf(stderr, "trackway %s: %s: it ends in the middle of a line, or of compressed data\n", command, name);
}
