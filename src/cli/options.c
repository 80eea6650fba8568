#include "cli/options.h"
#include "channel/machine.h"
#include "cli/cli.h"
#include "recording/recording.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The word that was wrong, without what is behind '='. */
static void name_option(char *to, size_t size, int returned, char **argv)
{
	const char *word = argv[optind - 1];
	int is_word = !strncmp(word, "--", 2) && (returned == ':' || !optopt || strchr(word, '='));
	if (is_word)
		snprintf(to, size, "%.*s", (int)strcspn(word, "="), word);
	else
		snprintf(to, size, "-%c", optopt);
}

static void list_options(char *to, size_t size, const struct tw_option_set *set)
{
	size_t n = 0;
	to[0] = 0;
	for (const char *p = set->letters; *p && n < size; p++)
		if (isalpha((unsigned char)*p) && *p != 'h')
			n += (size_t)snprintf(to + n, size - n, "%s-%c", n ? ", " : "", *p);
	for (const struct option *o = set->words; o->name && n < size; o++)
		n += (size_t)snprintf(to + n, size - n, "%s--%s", n ? ", " : "", o->name);
}

static int is_known(const char *name, const struct tw_option_set *set)
{
	if (name[1] != '-')
		return name[1] != ':' && name[1] != '+' && strchr(set->letters, name[1]);
	for (const struct option *o = set->words; o->name; o++)
		if (!strncmp(o->name, name + 2, strlen(name + 2)))
			return 1;
	return 0;
}

int tw_wrong_option(const struct tw_option_set *set, int returned, char **argv)
{
	char name[64], all[1024];
	name_option(name, sizeof name, returned, argv);
	if (returned == ':')
		return tw_usage_error(set->command, "option %s wants an argument", name);
	if (is_known(name, set))
		return tw_usage_error(set->command, optopt ? "option %s takes no argument" : "%s is the beginning of several options",
		                      name);
	list_options(all, sizeof all, set);
	return tw_usage_error(set->command, "there is no option %s; there are %s", name, all);
}

int tw_parse_directory(const char *text, char *to, size_t size)
{
	size_t n = strlen(text);
	while (n > 1 && text[n - 1] == '/')
		n--;
	if (!n || n >= size - 8 || !strcmp(text, "-")) /* the directory before it is renamed to .old */
		return 0;
	snprintf(to, size, "%.*s", (int)n, text);
	return 1;
}

uint64_t tw_default_jobs(void)
{
	unsigned n = tw_machine_processors();
	return n > TW_MAX_JOBS ? TW_MAX_JOBS : n;
}

int tw_damage_report(void *context, size_t thread, size_t chunk, int error)
{
	struct tw_damage *d = context;
	const struct tw_chunk_info *c = tw_recording_chunk_info(d->recording, thread, chunk);
	char why[1024];
	fprintf(stderr,
	        "%s %s: thread %u, chunk %u is damaged and left out, with %" PRIu64 " instructions, %" PRIu64 " blocks and %" PRIu64
	        " references: %s\n",
	        tw_cli_program, d->command, tw_recording_thread(d->recording, thread)->serial, c->sequence, c->insns, c->blocks, c->refs,
	        tw_failure_sentence(error, why, sizeof why));
	d->chunks++;
	return 0;
}

size_t tw_problems_report(const char *command, const struct tw_recording *r)
{
	size_t n = tw_recording_n_problems(r);
	for (size_t i = 0; i < n; i++) {
		const struct tw_problem *p = tw_recording_problem(r, i);
		fprintf(stderr, "%s %s: %s: %s\n", tw_cli_program, command, p->text, tw_error_text(p->error));
	}
	return n;
}

void tw_names_report(const char *command, const struct tw_names *names)
{
	const char *why, *path;
	for (size_t i = 0; (why = tw_names_problem(names, i, &path)); i++)
		fprintf(stderr, "%s %s: %s gives no names: %s\n", tw_cli_program, command, path, why);
}

const char tw_no_insns[] = "there is no instruction line such as 'I  04016b80,3' in it; a trace comes from "
                           "valgrind --tool=lackey --trace-mem=yes";

void tw_trace_report(const char *command, const char *name, const struct tw_trace_facts *facts)
{
	if (facts->bad) {
		fprintf(stderr, "%s %s: %s: left out %" PRIu64 " %s", tw_cli_program, command, name, facts->bad,
		        facts->bad == 1 ? "line that is not Lackey's: line" : "lines that are not Lackey's: lines");
		for (uint64_t i = 0; i < facts->bad && i < TW_TRACE_FIRST_BAD; i++)
			fprintf(stderr, "%s %" PRIu64, i ? "," : "", facts->bad_line[i]);
		fprintf(stderr, "%s\n", facts->bad > TW_TRACE_FIRST_BAD ? ", ..." : "");
	}
	if (facts->cut_off)
		fprintf(stderr, "%s %s: %s: it ends in the middle of a line, or of compressed data\n", tw_cli_program, command, name);
}

void tw_tell_cut(FILE *f, const struct tw_totals *totals)
{
	fprintf(f, "%llu thread%s cut off at exit", (unsigned long long)totals->cut, totals->cut == 1 ? " was" : "s were");
}
