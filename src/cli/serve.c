/* trackway serve: the page of a recording, for a browser on this machine. */
#include "cli/cli.h"
#include "cli/how_far.h"
#include "cli/options.h"
#include "recording/recording.h"
#include "serve/ask.h"
#include "serve/serve.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help[] = "Usage: trackway serve [OPTION]... DIR\n\n"
                           "Serves the page of a recording (report --html) to a browser on this machine: all\n"
                           "functions with their code, and a box for SQL queries. It prints the address when\n"
                           "it is ready, and runs until it is interrupted.\n\n"
                           "  --port N       listen on this port (default 8917; 0: any free port)\n"
                           "  --listen ADDR  listen on this address instead of 127.0.0.1. Anyone who can\n"
                           "                 reach it can read the whole recording, so --i-know is required\n"
                           "  --i-know       confirm --listen\n"
                           "  -j N           replay with N threads (default: one per processor)\n"
                           "  --help         print this help\n\n"
                           "For example:\n\n"
                           "  trackway serve gzip.tw\n";

struct command {
	const char *dir, *address;
	int knows;
	uint64_t port, jobs;
};

/* Returns -1 to go on, or an exit status. */
static int parse(struct command *c, int argc, char **argv)
{
	static const struct option options[] = {{"port", required_argument, NULL, 'p'},
	                                        {"listen", required_argument, NULL, 'l'},
	                                        {"i-know", no_argument, NULL, 'k'},
	                                        {"help", no_argument, NULL, 'h'},
	                                        {NULL, 0, NULL, 0}};
	static const struct tw_option_set set = {"serve", ":j:h", options};
	for (int option; (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;) {
		switch (option) {
		case 'p':
			if (!tw_parse_number(optarg, 65535, &c->port))
				return tw_usage_error("serve", "--port wants a number from 0 to 65535, not '%s'", optarg);
			break;
		case 'l':
			c->address = optarg;
			break;
		case 'k':
			c->knows = 1;
			break;
		case 'j':
			if (!tw_parse_number(optarg, TW_MAX_JOBS, &c->jobs) || !c->jobs)
				return tw_usage_error("serve", "-j wants a number from 1 to %d, not '%s'", TW_MAX_JOBS, optarg);
			break;
		case 'h':
			return fputs(help, stdout) < 0;
		default:
			return tw_wrong_option(&set, option, argv);
		}
	}
	if (argc - optind != 1)
		return tw_usage_error("serve", "exactly one recording is required");
	if (!tw_serve_is_loopback(c->address) && !c->knows)
		return tw_usage_error(
		    "serve", "%s can be reached from other machines, so others could read the recording; if this is intended, add --i-know",
		    c->address);
	c->dir = argv[optind];
	return -1;
}

static int serve(const struct command *c, struct tw_server *s)
{
	int error = tw_serve_listen(s, c->address, (unsigned)c->port);
	if (error) {
		fprintf(stderr, "trackway serve: cannot listen on %s, port %u: %s\n", c->address, (unsigned)c->port,
		        error == EINVAL ? "it is not a numeric address" : strerror(error));
		return 1;
	}
	printf(strchr(c->address, ':') ? "http://[%s]:%u/\n" : "http://%s:%u/\n", c->address, s->port);
	if (fflush(stdout))
		return 1;
	error = tw_serve_run(s);
	fprintf(stderr, "trackway serve: %s\n", strerror(error));
	return 1;
}

static int run(const struct command *c, const struct tw_recording *r)
{
	struct tw_damage damage = {.command = "serve", .recording = r};
	struct tw_how_far how_far = {.command = "serve"};
	const struct tw_replay_options replay = tw_how_far_replay(&how_far, &damage, c->jobs);
	struct tw_page page;
	tw_problems_report("serve", r);
	int error = tw_page_open(&page, r, c->dir, NULL, &replay);
	struct tw_sql sql = {
	    .recording = r, .names = page.names, .jobs = (unsigned)c->jobs, .damage = tw_damage_report, .context = &damage};
	struct tw_server server = {.page = &page, .open = !tw_serve_is_loopback(c->address)};
	if (!error && tw_database_open(&sql, &server.database))
		error = tw_fail(TW_ERR_MEMORY, "database");
	else if (!error)
		tw_ask_prepare(server.database);
	int status = error ? tw_recording_error("serve", c->dir, error) : serve(c, &server);
	if (server.database)
		tw_database_close(server.database);
	tw_page_close(&page);
	return status;
}

int tw_cmd_serve(int argc, char **argv)
{
	struct command c = {.address = "127.0.0.1", .port = 8917, .jobs = tw_default_jobs()};
	struct tw_recording *r;
	int status = parse(&c, argc, argv);
	if (status >= 0)
		return status;
	int error = tw_recording_open(c.dir, &r);
	error = error ? error : tw_recording_replayable(r);
	if (error)
		return tw_recording_error("serve", c.dir, error);
	status = run(&c, r);
	tw_recording_close(r);
	return status;
}
