#include "cli/record_run.h"
#include "cli/record_prepare.h"
#include "cli/attached.h"
#include "cli/learned.h"
#include "channel/asked.h"
#include "channel/keep.h"
#include "cli/progress.h"
#include "cli/spooling.h"
#include "learn/known.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <trackway/called.h>

/* What the learn file has is not told again. */
static int fill_told(void *context, struct tw_control *c)
{
	const struct record *r = context;
	return tw_learn_known(r->learn, c);
}

/*
 * Is known code left out? By the bare engine within a budget; in programs in two versions, if turnings tell all that
 * is to be learned.
 */
static int learns(const struct record *r)
{
	if (!r->learn)
		return 0;
	return r->instrumented ? !(r->learn_what & ~(unsigned)TW_LEARN_ALL) && !r->has_dir : r->budget.period != 0;
}

/* Are there buffers to be encoded? */
static int is_stored(const struct record *r)
{
	return r->writer && r->sink != TW_SINK_COUNT && r->format != TW_FORMAT_NONE;
}

/* Encoding continues for a while after the program has ended: requests are answered meanwhile. */
static void tell_left(void *context, uint64_t left)
{
	const struct record *r = context;
	if (left)
		tw_asked_answer(r->asked);
	if (!r->quiet)
		tw_spooling_tell(left);
}

int tw_record_start_collector(struct record *r)
{
	char path[TW_KEEP_PATH];
	struct tw_collector_options options = {
	    .format = (uint32_t)r->format,
	    .verify = r->verify,
	    .start = r->start,
	    .stop = r->stop,
	    .most_bytes = r->ending.most_bytes,
	    .most_ns = r->ending.most_ns,
	    .budget = r->budget,
	    .yields = r->budget_as_given != NULL,
	    .switchable = r->instrumented,
	    .burst = r->burst.in_ns,
	    .ring = r->ring,
	    .spool = r->spool_as_given || !is_stored(r) ? r->spool : tw_spooling_default(r->dir),
	    .must_grow = r->spool_as_given != NULL,
	    .tell_left = tell_left,
	    .tell_context = r,
	    .no_follow = r->follow == TW_FOLLOW_NONE,
	    .order = r->order,
	    .rest = r->rest,
	    .calls = r->calls ? r->calls + strlen(TW_CALLS_KNOWN) : NULL,
	    .learn = learns(r) ? r->learn_what & TW_LEARN_ALL : 0,
	    .stack = !r->instrumented && (r->learn_what & TW_LEARN_CONTEXTS) != 0,
	    .seeks = !r->instrumented && (r->learn_what & ~(unsigned)TW_LEARN_ALL) != 0,
	    .bare = r->learns_bare && !r->instrumented,
	    .log = r->log,
	    .switches = r->switches,
	    .fill_told = fill_told,
	    .fill_context = r,
	    .discard = r->sink == TW_SINK_COUNT,
	    .writer = r->writer,
	    .dump_pc = r->dump_pc,
	    .dump_all = r->dump_all,
	    .hot = r->hot,
	    .versions = r->versions,
	    .share = (uint64_t)r->share << 20,
	    .keep = tw_record_place_to_keep(r, path),
	    .keep_bytes = tw_record_bytes_to_keep(r),
	    .must_keep = r->keep != NULL,
	    .sizes = &r->sizes,
	    .check = r->verify ? tw_record_check_chunk : NULL,
	    .check_context = r,
	    .feed = r->with.feed,
	    .analyzers = r->with.pid,
	};
	int error = tw_collector_new(&options, &r->collector);
	return error ? tw_record_own_error(r, error) : 0;
}

/* The processes that are recorded are to go on natively. */
static int let_go(struct record *r, char *said, size_t size)
{
	const uint64_t one = 1;
	if (r->instrumented) {
		snprintf(said, size, "a program that trackway cc has instrumented records itself, to its end");
		return -1;
	}
	if (tw_attached_let_go(tw_collector_control(r->collector), said, size))
		return -1;
	return write(r->left, &one, sizeof one) < 0 ? -1 : 0;
}

/* What the ring has is to be stored now. */
static int keep(struct record *r, char *said, size_t size)
{
	if (!r->ring_as_given || !r->writer) {
		snprintf(said, size, "it is not recorded with --ring: all of it is stored");
		return -1;
	}
	tw_collector_keep(r->collector);
	snprintf(said, size, "the last %s is stored in %s", r->ring_as_given, r->dir);
	return 0;
}

/* What somebody else asks for (channel/asked.h). */
static int asked(void *context, const char *word, char *answer, size_t size)
{
	if (!strcmp(word, "stop"))
		return let_go(context, answer, size);
	if (!strcmp(word, "keep"))
		return keep(context, answer, size);
	snprintf(answer, size, "this recorder does not know what '%s' is", word);
	return -1;
}

static void stop(void *context)
{
	tw_collector_stop(context);
}

/* The program has ended; processes that it left behind are recorded to their ends. */
static void wait_for_others(struct record *r)
{
	enum { PATIENCE_MS = 1000, FIRST_PATIENCE_MS = 100 };
	const unsigned n = tw_collector_end(r->collector, r->wait_first ? FIRST_PATIENCE_MS : PATIENCE_MS);
	char until[80] = "or until SIGINT or SIGTERM";
	if (n)
		tw_asked_answer(r->asked);
	if (r->wait_first)
		snprintf(until, sizeof until, "by process %d, or until that gets SIGTERM", (int)getpid());
	if (n && !r->quiet)
		fprintf(stderr, "trackway: %s has ended; %u process%s it left behind %s on and %s recorded to the end, %s\n",
		        r->command_argv[0], n, n == 1 ? "" : "es", n == 1 ? "goes" : "go", n == 1 ? "is" : "are", until);
	if (n && r->wait_first)
		tw_aside_leave(&r->aside);
}

struct tw_aside_end tw_record_launch(struct record *r, const char *channel, void (*stop_it)(void *), void *context)
{
	const uint64_t start = tw_machine_ns();
	const struct tw_launch launch = {r->engine, channel, &r->program, stop_it, context, r->left, r->asked};
	struct tw_aside_end end = {0};
	end.why = tw_launch_run(&launch, &end.wait_status);
	end.duration_ns = tw_machine_ns() - start;
	return end;
}

/* Takes a process that runs already, and waits for it. */
static struct tw_aside_end attach(struct record *r)
{
	const uint64_t start = tw_machine_ns();
	const char *channel = tw_attached_is_bare(r->pid) ? tw_collector_bare_path(r->collector) : tw_collector_path(r->collector);
	const struct tw_attach_options options = {r->pid, r->engine, channel, &r->sizes};
	struct tw_attached_end end = tw_attached_run(&options, r->left, r->quiet);
	char said[512];
	if (end.stopped) {
		end.left = !let_go(r, said, sizeof said);
		fprintf(stderr, "trackway: %s\n", said);
	}
	if (end.stopped && !end.left)
		tw_collector_stop(r->collector);
	r->not_attached = end.failed;
	return (struct tw_aside_end){.wait_status = end.left ? TW_LAUNCH_LEFT : end.wait_status, .duration_ns = tw_machine_ns() - start};
}

int tw_record_has_left(const struct record *r)
{
	return r->end.wait_status == TW_LAUNCH_LEFT;
}

int tw_record_keeps_names(const struct record *r)
{
	return r->writer && !r->names_later && !r->learns_bare && r->sink != TW_SINK_COUNT && r->format != TW_FORMAT_NONE;
}

/* If names are stored for a program, they are stored for nearly everything that it maps. */
static void begin_ahead(struct record *r)
{
	char place[TW_KEEP_PATH], path[PATH_MAX];
	const struct tw_name_store store = {tw_record_place_to_keep(r, place), tw_record_bytes_to_keep(r)};
	if (tw_record_keeps_names(r) && store.path && r->engine && r->program.path && realpath(r->program.path, path) &&
	    !tw_name_store_has(&store, path))
		r->ahead = tw_ahead_begin(tw_collector_control(r->collector), &store, r->engine);
}

int tw_record_run(struct record *r)
{
	struct tw_aside_end end;
	r->left = eventfd(0, EFD_CLOEXEC);
	r->asked = tw_asked_begin(asked, r);
	if (r->pid || r->wait_first)
		tw_asked_answer(r->asked);
	begin_ahead(r);
	struct tw_progress *progress = r->progress && !r->quiet ? tw_progress_begin(r->collector) : NULL;
	if (r->pid)
		end = attach(r);
	else if (r->wait_first)
		tw_aside_serve(&r->aside, tw_collector_path(r->collector), stop, r->collector, &end);
	else
		end = tw_record_launch(r, tw_collector_path(r->collector), stop, r->collector);
	r->end.wait_status = end.wait_status;
	r->end.duration_ns = end.duration_ns;
	wait_for_others(r);
	tw_progress_end(progress);
	tw_collector_finish(r->collector, &r->result);
	tw_asked_end(r->asked);
	close(r->left);
	r->shares = tw_collector_shares(r->collector);
	if (!r->wait_first && !tw_record_has_left(r))
		tw_launch_end();
	if (r->not_attached)
		return EXIT_OURS;
	if (!end.why)
		return 0;
	const char *what = r->engine ? r->engine : r->program.path;
	fprintf(stderr, "trackway record: %s cannot be started: %s\n", what, strerror(end.why));
	snprintf(r->result.failure, sizeof r->result.failure, "%s could not be started: %s", r->engine ? "the engine" : "the program",
	         strerror(end.why));
	r->result.said = 1;
	return EXIT_OURS;
}
