#include "cli/request.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- help ---- */

enum { TEXT_AT = 19, WIDTH = 80 };

/* Prints the text, wrapped between words; each line begins at column TEXT_AT; `at`: current column. */
static void print_wrapped(FILE *f, const char *text, size_t at)
{
	while (*text) {
		size_t n = strcspn(text, " ");
		if (at > TEXT_AT && at + 1 + n > WIDTH) {
			fprintf(f, "\n%*s", TEXT_AT, "");
			at = TEXT_AT;
		} else if (at > TEXT_AT) {
			fputc(' ', f);
			at++;
		}
		fprintf(f, "%.*s", (int)n, text);
		at += n;
		text += n + (text[n] == ' ');
	}
}

static void print_option(FILE *f, const struct tw_option *o)
{
	int wants = tw_option_wants(o);
	int at = fprintf(f, wants == 2 ? "  --%s[=%s]" : wants ? "  --%s %s" : "  --%s%s", o->name, wants ? o->argument : "");
	if (at < TEXT_AT)
		fprintf(f, "%*s", TEXT_AT - at, "");
	else
		fprintf(f, "\n%*s", TEXT_AT, "");
	char text[1024];
	snprintf(text, sizeof text, o->value ? "%s; default %s" : "%s", o->help, o->value);
	print_wrapped(f, text, TEXT_AT);
	fputc('\n', f);
}

void tw_options_print(FILE *f, const struct tw_option *options)
{
	for (; options && options->name; options++)
		print_option(f, options);
}

static int print_help(const struct tw_request *r)
{
	static const char *const scopes[] = {
	    [TW_SCOPE_CHUNKS] = "It uses all cores.",
	    [TW_SCOPE_THREADS] = "It uses at most one core per thread of the program.",
	    [TW_SCOPE_ALL] = "It sees all threads in time order, and uses one core.",
	};
	const struct tw_analyzer *a = r->analyzer;
	printf("Usage: trackway analyze %s [OPTION]... %s%sDIR\n\n%s: %s.\n", r->name, a->argument ? tw_request_argument(a)->argument : "",
	       a->argument ? " " : "", a->name, a->what ? a->what : "an analyzer");
	if (a->help)
		printf("\n%s", a->help);
	if (a->options && a->options->name)
		printf("\nOptions of this analyzer:\n\n");
	tw_options_print(stdout, a->options);
	return printf("\n%s\nFor options common to all analyzers, see trackway analyze --help.\n",
	              a->scope <= TW_SCOPE_ALL ? scopes[a->scope] : "") < 0;
}

/* ---- options ---- */

enum { FIRST_LONG = 512, STATE = 256, STATE_EVERY };

/* As getopt_long wants them, NULL: no memory. */
static struct option *list_options(const struct tw_analyzer *a)
{
	static const int wants[] = {no_argument, required_argument, optional_argument};
	const struct tw_option *o;
	size_t n = 0;
	while (tw_request_option(a, n))
		n++;
	struct option *words = calloc(n + 4, sizeof *words);
	for (size_t i = 0; words && (o = tw_request_option(a, i)); i++)
		words[i] = (struct option){o->name, wants[tw_option_wants(o)], NULL, FIRST_LONG + (int)i};
	if (words) {
		words[n] = (struct option){"state", required_argument, NULL, STATE};
		words[n + 1] = (struct option){"state-every", required_argument, NULL, STATE_EVERY};
		words[n + 2] = (struct option){"help", no_argument, NULL, 'h'};
	}
	return words;
}

/* Handles an option of struct tw_run. Returns -1 to continue, or an exit status. */
static int take_how(struct tw_run *how, int option)
{
	enum { MOST_SECONDS = 1000000 };
	if (option == STATE)
		how->state = optarg;
	else if (option == STATE_EVERY && !tw_parse_number(optarg, MOST_SECONDS, &how->every))
		return tw_usage_error("analyze", "--state-every wants a number of seconds up to %d, not '%s'", MOST_SECONDS, optarg);
	else if (option == 'j' && (!tw_parse_number(optarg, TW_MAX_JOBS, &how->jobs) || !how->jobs))
		return tw_usage_error("analyze", "-j wants a number from 1 to %d, not '%s'", TW_MAX_JOBS, optarg);
	return -1;
}

/* Sets an option of the analyzer's. Likewise. */
static int set_numbered(struct tw_request *r, size_t option, const char *value)
{
	char why[1024];
	return tw_request_set(r, option, value, why, sizeof why) ? tw_usage_error("analyze", "%s: %s", r->name, why) : -1;
}

/* The same by its name; there is one of it. */
static int set_named(struct tw_request *r, const char *name, const char *value)
{
	size_t i = 0;
	while (strcmp(tw_request_option(r->analyzer, i)->name, name))
		i++;
	return set_numbered(r, i, value);
}

/* Likewise. */
static int take_option(struct tw_request *r, struct tw_run *how, const struct tw_option_set *set, int option, char **argv)
{
	if (option == 'h')
		return print_help(r);
	if (option == 'j' || option == STATE || option == STATE_EVERY)
		return take_how(how, option);
	if (option == 'o')
		return set_named(r, "output", optarg);
	if (option < FIRST_LONG)
		return tw_wrong_option(set, option, argv);
	return set_numbered(r, (size_t)(option - FIRST_LONG), optarg);
}

int tw_request_parse(struct tw_request *r, struct tw_run *how, int argc, char **argv)
{
	struct option *words = list_options(r->analyzer);
	const struct tw_option_set set = {"analyze", ":j:o:h", words};
	int status = words ? -1 : tw_recording_error("analyze", r->name, TW_ERR_MEMORY);
	for (int option; status < 0 && (option = getopt_long(argc, argv, set.letters, words, NULL)) >= 0;)
		status = take_option(r, how, &set, option, argv);
	free(words);
	return status;
}

int tw_request_arguments(struct tw_request *r, int n, char **words, const char **dir)
{
	const char *argument = r->analyzer->argument;
	if (argument && n == 1 && tw_request_has_argument(r))
		argument = NULL; /* it was given as an option */
	if (argument && n != 2)
		return tw_usage_error("analyze", "%s wants %s (as --%s has it) and exactly one recording", r->name,
		                      tw_request_argument(r->analyzer)->argument, argument);
	if (n < 1 || (!argument && n > 1))
		return tw_usage_error("analyze", "exactly one recording is required");
	*dir = words[n - 1];
	return argument ? set_named(r, argument, words[0]) : -1;
}

/* ---- where the answer goes ---- */

int tw_request_open_output(const char *command, const struct tw_request *r, const char *dir, FILE *standard, struct tw_outfile *to)
{
	if (!r->output || !strcmp(r->output, "-")) {
		*to = (struct tw_outfile){.f = standard};
		return 1;
	}
	if (dir && tw_is_part_of(r->output, dir)) {
		fprintf(stderr, "%s %s: %s: it is a file of the recording\n", tw_cli_program, command, r->output);
		return 0;
	}
	const int error = tw_outfile_open(to, r->output);
	return !error || (tw_recording_error(command, r->name, error), 0);
}

int tw_request_close_output(const char *command, const struct tw_request *r, struct tw_outfile *to, int status)
{
	const int error = tw_outfile_close(to, !status || (to->f && ftello(to->f) > 0));
	return error ? tw_recording_error(command, r->name, error) : status;
}

int tw_request_end_answer(const char *command, const struct tw_request *r, struct tw_answer *answer)
{
	char *known;
	int result = tw_answer_end(answer, &known);
	if (result < 0)
		return tw_recording_error(command, r->name, result);
	if (result && known)
		fprintf(stderr, "%s %s: %s: its answer has no table '%s'; there are %s\n", tw_cli_program, command, r->name, r->table,
		        known);
	else if (result)
		fprintf(stderr, "%s %s: %s: its answer has no tables\n", tw_cli_program, command, r->name);
	free(known);
	return result;
}
