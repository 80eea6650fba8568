/*
 * trackway-mpi: analyzes, with MPI, recordings that are too long for one machine, or come from a job that ran on
 * many: mpirun -n N trackway-mpi analyze NAME DIR...
 */
#include "analyzers/table.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "mpi/quiet.h"
#include "mpi/work.h"
#include "plugin/guard.h"
#include "plugin/plugin.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "Usage: mpirun -n N trackway-mpi analyze NAME [OPTION]... DIR...\n"
                           "       mpirun -n N trackway-mpi analyze ./FILE.so [OPTION]... DIR...\n\n"
                           "Runs an analyzer on recordings with all ranks of an MPI job, and prints what\n"
                           "`trackway analyze` prints. DIR is a recording on a file system that all ranks\n"
                           "share; with several, each has its own answer.\n\n"
                           "  --mine           each rank has its own recordings: %r in DIR is its number\n"
                           "  -j N             each rank replays with N threads (default: as many as it has\n"
                           "                   processors)\n"
                           "  --state FILE     save the state of rank N in FILE.N, and all of it at the end\n"
                           "                   in FILE; resume from these. With --mine, %r in FILE is the\n"
                           "                   rank number\n"
                           "  --state-every SECONDS\n"
                           "                   how often to save it; default 30\n"
                           "  --times          print on standard error how each rank spent its time\n"
                           "  --help, --version\n\n"
                           "The other options are those of trackway analyze. docs/cluster.md has a script\n"
                           "for Slurm, and a model of the speedup with many nodes.\n";

/* Removes an option without a value from the words; 0: it is not there. */
static int take_flag(int *argc, char **argv, const char *flag)
{
	int found = 0, n = 1;
	for (int i = 1; i < *argc; i++) {
		if (!strcmp(argv[i], flag))
			found = 1;
		else
			argv[n++] = argv[i];
	}
	argv[n] = NULL;
	*argc = n;
	return found;
}

struct command {
	struct tw_request request;
	int has_request, mine;
	struct tw_run how;
	char **dirs;
	size_t n_dirs;
};

/* Returns -1 to go on, or an exit status. */
static int parse_request(struct command *c, int argc, char **argv)
{
	const struct tw_option *argument = c->request.analyzer->argument ? tw_request_argument(c->request.analyzer) : NULL;
	int words = argument ? 2 : 1;
	const char *dir;
	int status = tw_request_parse(&c->request, &c->how, argc, argv);
	if (status >= 0)
		return status;
	int n = argc - optind;
	c->dirs = argv + optind + words - 1;
	c->n_dirs = (size_t)(n - words + 1);
	if (n < words)
		return tw_usage_error("analyze", "%s wants %s%sat least one recording", c->request.name, argument ? argument->argument : "",
		                      argument ? " and " : "");
	return tw_request_arguments(&c->request, words, argv + optind, &dir);
}

/* Likewise. */
static int parse(struct command *c, int argc, char **argv)
{
	char why[1024];
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return fputs(help, argc < 2 ? stderr : stdout) < 0 || argc < 2 ? TW_EXIT_USAGE : 0;
	if (!strcmp(argv[1], "--version"))
		return printf("trackway-mpi %s\n", TW_VERSION) < 0;
	if (strcmp(argv[1], "analyze")) {
		fprintf(stderr, "trackway-mpi: there is no command '%s'; there is analyze\n", argv[1]);
		return TW_EXIT_USAGE;
	}
	if (argc < 3 || (argv[2][0] == '-' && strcmp(argv[2], "--help")))
		return tw_usage_error("analyze", "the analyzer comes first, before its options");
	if (!strcmp(argv[2], "--help"))
		return fputs(help, stdout) < 0;
	const struct tw_analyzer *analyzer = tw_plugin_find(tw_analyzers, argv[2], why, sizeof why);
	if (!analyzer) {
		fprintf(stderr, "trackway-mpi analyze: %s: %s\n", argv[2], why);
		return 1;
	}
	c->has_request = tw_request_init(&c->request, analyzer, argv[2]);
	return c->has_request ? parse_request(c, argc - 2, argv + 2) : tw_recording_error("analyze", argv[2], -1);
}

/*
 * All ranks parse the same words; rank 0 reports errors. Only rank 0 ends with the status: launchers print a message
 * for each rank that does not end with 0.
 */
int main(int argc, char **argv)
{
	struct command c = {.how = {.jobs = tw_default_jobs(), .every = TW_STATE_EVERY}};
	struct tw_job job = {.request = &c.request};
	int provided;
	tw_cli_program = "trackway-mpi";
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job.size);
	c.mine = take_flag(&argc, argv, "--mine");
	job.with_times = take_flag(&argc, argv, "--times");
	if (job.rank)
		tw_be_quiet();
	int status = parse(&c, argc, argv);
	tw_be_loud();
	if (status < 0 && provided != MPI_THREAD_MULTIPLE) {
		status = 1;
		if (!job.rank)
			fprintf(stderr, "trackway-mpi: this MPI library has no MPI_THREAD_MULTIPLE\n");
	}
	job.how = c.how;
	tw_guard_install("analyze", 1);
	if (status < 0)
		status = c.mine ? tw_work_alone(&job, c.dirs, c.n_dirs) : tw_work_together(&job, c.dirs, c.n_dirs);
	if (c.has_request)
		tw_request_free(&c.request);
	fflush(stdout);
	MPI_Finalize();
	return job.rank ? 0 : status;
}
