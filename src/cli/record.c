/* trackway record: runs a program under the engine, collects, stores. */
#include "base/heap.h"
#include "base/zeros.h"
#include "cli/record_end.h"
#include "cli/record_options.h"
#include "cli/record_prepare.h"
#include "cli/record_run.h"
#include "cli/cli.h"
#include "cli/learned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void stop_aside(void *context)
{
	tw_aside_stop(context);
}

/* With --wait=first: what this process does while another collects. */
static int run_in_foreground(struct record *r)
{
	char channel[TW_ASIDE_PATH];
	r->left = -1;
	int status = tw_aside_path(&r->aside, channel);
	if (status >= 0)
		return status;
	const struct tw_aside_end end = tw_record_launch(r, channel, stop_aside, &r->aside);
	status = tw_aside_end(&r->aside, &end);
	return status ? status : tw_record_end_like(end.wait_status);
}

/* Everything except the program: in the process that the user started, or in the one aside. */
static int collect(struct record *r)
{
	int status = tw_record_prepare_recording(r);
	if (!status)
		status = tw_record_prepare_verify(r);
	if (!status)
		status = tw_record_start_collector(r);
	const int begun = !status;
	if (begun)
		status = tw_record_run(r);
	if (begun && !r->not_attached)
		status = tw_record_finish(r, status);
	else
		tw_record_abandon(r);
	tw_ahead_free(r->ahead);
	tw_zeros_leave();
	tw_collector_free(r->collector);
	tw_with_free(&r->with);
	free(r->calls);
	return status;
}

static int go_aside(struct record *r)
{
	const int why = tw_aside_begin(&r->aside);
	if (!why)
		return r->aside.collector ? run_in_foreground(r) : collect(r);
	fprintf(stderr, "trackway record: the process that is to record cannot be made: %s\n", strerror(why));
	return EXIT_OURS;
}

/* --share where it is not given, in MB. */
static uint32_t default_share(void)
{
	uint64_t most = tw_machine_memory() / 8;
	return (uint32_t)((most < TW_STORE_BYTES ? most : TW_STORE_BYTES) >> 20);
}

/* Did the run add so little that no further run is needed? `before`: number of facts before. */
static int is_enough(const struct record *r, uint64_t before)
{
	const uint64_t now = tw_learned_count(r->learn);
	return r->until > 0 && (double)(now - before) < r->until * (double)now;
}

/*
 * Children of this process make all runs but the last, each as if it were the only one. -1: this is a child, or the
 * last run: continue; otherwise the exit status.
 */
static int repeat(const struct record *r)
{
	for (uint32_t k = 1; k < r->runs; k++) {
		const uint64_t before = tw_learned_count(r->learn);
		int wait_status = 0;
		fflush(NULL);
		const pid_t child = fork();
		if (child < 0)
			return EXIT_OURS;
		if (!child)
			return -1;
		while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
			;
		if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) == EXIT_OURS || is_enough(r, before))
			return tw_record_end_like(wait_status);
	}
	return -1;
}

int tw_cmd_record(int argc, char **argv)
{
	struct record r = {.dir_fd = -1,
	                   .format = TW_FORMAT_DEP,
	                   .hot = 16,
	                   .versions = 8,
	                   .share = default_share(),
	                   .learn_what = TW_LEARN_ALL,
	                   .runs = 1,
	                   .came = tw_machine_now()};
	tw_launch_prepare();
	int status = tw_record_parse(&r, argc, argv);
	if (status >= 0)
		return status;
	if (r.sink != TW_SINK_COUNT && r.format != TW_FORMAT_NONE)
		tw_heap_to_store();
	else if (!r.with.n)
		tw_heap_to_count();
	const struct tw_launch_wants wants = {r.sink == TW_SINK_COUNT, r.budget_as_given != NULL};
	if (tw_launch_limits(&wants, &r.sizes))
		return tw_record_too_little(&r.sizes);
	status = tw_record_prepare_program(&r);
	if (!status && r.learn && tw_learned_check(r.learn, r.program.path))
		status = EXIT_OURS;
	if (!status)
		status = repeat(&r);
	if (status < 0)
		status = r.wait_first ? go_aside(&r) : collect(&r);
	tw_command_free(&r.program);
	free(r.engine);
	return status;
}
