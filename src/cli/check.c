/* trackway check: validates a recording. */
#include "cli/cli.h"
#include "cli/how_far.h"
#include "cli/options.h"
#include "recording/recording.h"
#include "replay/replayer.h"
#include "report/printable.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "Usage: trackway check [-j N] [-q] DIR...\n\n"
                           "Validates recordings: checksums, that no chunk is missing, that code\n"
                           "descriptions are well-formed, that every chunk replays to its end, that the\n"
                           "recording contains what was counted while recording, and that the times of each\n"
                           "thread never go back. Each problem is named with its file and chunk; for each\n"
                           "damaged thread, the undamaged rest is shown, too.\n\n"
                           "  -j N    replay with N threads (default: one per processor)\n"
                           "  -q      print only problems\n"
                           "  --help  print this help\n\n"
                           "For example, after copying a recording from another machine:\n\n"
                           "  trackway check gzip.tw && trackway report gzip.tw\n\n"
                           "Exit status: 0 if nothing is damaged, 1 if something is, 2 if a DIR is not a\n"
                           "recording or cannot be opened. A recording that is still being written, or whose\n"
                           "writing was stopped, is incomplete, not damaged.\n";

/* What a chunk was found to hold. */
struct found {
	uint64_t insns, blocks, refs, reads, writes, gaps, stamps;
	uint64_t first_time, last_time; /* of its events that have one; 0: none has */
	int backwards;                  /* a time is before the one before it */
	int damage;                     /* an error, if the chunk cannot be read or replayed */
	char *why;                      /* a sentence about it; NULL: there was no memory */
};

struct check {
	/* options */
	const char *dir;
	uint64_t jobs;
	int quiet;
	/* the work */
	const struct tw_recording *recording;
	struct found *found; /* of all chunks, thread by thread */
	size_t n_found;
	size_t *first; /* for each thread, the index of its first chunk in found */
	unsigned long problems;
};

static void __attribute__((format(printf, 2, 3))) problem(struct check *c, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	c->problems++;
}

/* ---- counting by replay ---- */

/* A worker's state: the chunk it is at. */
struct counter {
	struct check *check;
	uint32_t thread, sequence;
	struct found *found;
};

static struct found *find(const struct check *c, uint32_t serial, uint32_t sequence)
{
	size_t thread = tw_recording_find_thread(c->recording, serial);
	size_t last = tw_recording_thread(c->recording, thread)->n_chunks - 1;
	size_t chunk = sequence < last ? sequence : last; /* less where chunks are missing */
	while (chunk && tw_recording_chunk_info(c->recording, thread, chunk)->sequence != sequence)
		chunk--;
	return &c->found[c->first[thread] + chunk];
}

static void *begin(void *arg)
{
	struct counter *s = calloc(1, sizeof *s);
	if (s)
		s->check = arg;
	return s;
}

static void note_event(struct found *f, uint32_t type, const void *payload)
{
	uint64_t time = tw_event_time(type, payload);
	const struct tw_syscall *call = payload;
	f->gaps += type == TW_EVENT_GAP;
	f->stamps += type == TW_EVENT_STAMP;
	if (!time)
		return;
	f->backwards |= time < f->last_time || (type == TW_EVENT_SYSCALL && call->began > time);
	f->first_time = f->first_time ? f->first_time : time;
	f->last_time = time;
}

static struct found *found_of(struct counter *s, uint32_t thread, uint32_t sequence)
{
	if (!s->found || s->thread != thread || s->sequence != sequence)
		s->found = find(s->check, thread, sequence);
	s->thread = thread;
	s->sequence = sequence;
	return s->found;
}

static int take_good(void *state, const struct tw_chunk *chunk)
{
	struct found *f = found_of(state, chunk->thread, chunk->sequence);
	f->insns = chunk->insns;
	f->blocks = chunk->blocks;
	f->refs = chunk->refs;
	f->reads = chunk->reads;
	f->writes = chunk->writes;
	size_t at = 0;
	for (const struct tw_event_header *h; (h = tw_event_next(chunk->e, chunk->n_e, &at));)
		note_event(f, h->type, h + 1);
	return 0;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct found *f = found_of(state, b->thread, b->sequence);
	f->blocks += b->n_blocks - b->n_continued;
	f->insns += b->n_insns;
	f->refs += b->n_refs;
	f->reads += b->n_reads;
	f->writes += b->n_writes;
	for (size_t i = 0; i < b->n_events; i++)
		note_event(f, b->events[i].type, b->events[i].payload);
	return 0;
}

static int merge(void *state, void *later)
{
	(void)state;
	free(later);
	return 0;
}

static int end(void *state, int error)
{
	free(state);
	return error;
}

/* Chunks are replayed in any order: what is wrong with them is reported after all have been replayed. */
static int damage(void *context, size_t thread, size_t chunk, int error)
{
	const struct check *c = context;
	struct found *f = &c->found[c->first[thread] + chunk];
	char why[1024];
	f->damage = error;
	f->why = strdup(tw_failure_sentence(error, why, sizeof why));
	return 0;
}

static void tell_damage(struct check *c, size_t thread)
{
	const struct tw_thread_info *t = tw_recording_thread(c->recording, thread);
	for (size_t i = 0; i < t->n_chunks; i++) {
		const struct found *f = &c->found[c->first[thread] + i];
		const struct tw_chunk_info *info = tw_recording_chunk_info(c->recording, thread, i);
		if (f->damage)
			problem(c, TW_THREAD_FILE ": chunk %u at offset %llu: %s", t->serial, info->sequence,
			        (unsigned long long)info->offset, f->why ? f->why : tw_error_text(f->damage));
	}
}

/* ---- comparing ---- */

static void compare(struct check *c, const char *where, const char *what, uint64_t counted, uint64_t found)
{
	if (counted != found)
		problem(c, "%s: %llu %s were counted while recording, but %llu found", where, (unsigned long long)counted, what,
		        (unsigned long long)found);
}

static void check_chunk(struct check *c, const struct tw_thread_info *t, const struct tw_chunk_info *info, const struct found *f)
{
	char where[64];
	snprintf(where, sizeof where, TW_THREAD_FILE ": chunk %u", t->serial, info->sequence);
	compare(c, where, "instructions", info->insns, f->insns);
	compare(c, where, "blocks", info->blocks, f->blocks);
	compare(c, where, "references", info->refs, f->refs);
	compare(c, where, "reads", info->reads, f->reads);
	compare(c, where, "writes", info->writes, f->writes);
	compare(c, where, "gaps", info->gaps, f->gaps);
	compare(c, where, "time stamps", info->stamps, f->stamps);
	if (f->backwards)
		problem(c, "%s: a time stamp is earlier than the one before it", where);
}

/* Whether a chunk begins where the one before it ended. */
static void check_order(struct check *c, const struct tw_thread_info *t, const struct tw_chunk_info *before,
                        const struct tw_chunk_info *info)
{
	static const struct tw_chunk_info none;
	const struct tw_chunk_info *b = before ? before : &none;
	if (before ? info->sequence != before->sequence + 1 : info->sequence)
		return; /* a chunk is missing, the reader said so */
	if (info->first_insn != b->first_insn + b->insns || info->first_block != b->first_block + b->blocks ||
	    info->first_ref != b->first_ref + b->refs)
		problem(c, TW_THREAD_FILE ": chunk %u does not begin where the chunk before it ended", t->serial, info->sequence);
}

static void check_thread(struct check *c, size_t thread)
{
	const struct tw_thread_info *t = tw_recording_thread(c->recording, thread);
	const struct tw_chunk_info *before = NULL, *good = NULL;
	unsigned long damaged = 0;
	uint64_t time = 0;
	for (size_t i = 0; i < t->n_chunks; i++) {
		const struct tw_chunk_info *info = tw_recording_chunk_info(c->recording, thread, i);
		const struct found *f = &c->found[c->first[thread] + i];
		check_order(c, t, before, info);
		if (f->first_time && f->first_time < time)
			problem(c, TW_THREAD_FILE ": chunk %u: its time is earlier than that of the chunk before it", t->serial,
			        info->sequence);
		time = f->last_time ? f->last_time : time;
		if (!f->damage)
			check_chunk(c, t, info, f);
		if (!f->damage && !damaged)
			good = info;
		damaged += f->damage != 0;
		before = info;
	}
	if (damaged)
		printf(TW_THREAD_FILE ": good up to reference %llu; %lu of %u chunks are damaged\n", t->serial,
		       good ? (unsigned long long)(good->first_ref + good->refs) : 0, damaged, t->n_chunks);
}

static void check_totals(struct check *c)
{
	struct tw_totals sum;
	const struct tw_totals *t = &tw_recording_info(c->recording)->totals;
	tw_recording_sum(c->recording, &sum);
	compare(c, TW_HEADER_FILE, "instructions", t->insns, sum.insns);
	compare(c, TW_HEADER_FILE, "blocks", t->blocks, sum.blocks);
	compare(c, TW_HEADER_FILE, "references", t->refs, sum.refs);
	compare(c, TW_HEADER_FILE, "reads", t->reads, sum.reads);
	compare(c, TW_HEADER_FILE, "writes", t->writes, sum.writes);
	compare(c, TW_HEADER_FILE, "chunks", t->chunks, sum.chunks);
	compare(c, TW_HEADER_FILE, "threads", t->threads, sum.threads);
	compare(c, TW_HEADER_FILE, "fragments", t->fragments, sum.fragments);
	compare(c, TW_HEADER_FILE, "time stamps", t->stamps, sum.stamps);
}

/* ---- the command ---- */

static int allocate(struct check *c)
{
	size_t n_threads = tw_recording_n_threads(c->recording), n = 0;
	c->first = calloc(n_threads + 1, sizeof *c->first);
	for (size_t i = 0; c->first && i < n_threads; i++) {
		c->first[i] = n;
		n += tw_recording_thread(c->recording, i)->n_chunks;
	}
	c->n_found = n;
	c->found = calloc(n + 1, sizeof *c->found);
	return c->first && c->found;
}

static void release(struct check *c)
{
	for (size_t i = 0; c->found && i < c->n_found; i++)
		free(c->found[i].why);
	free(c->found);
	free(c->first);
}

/* A file may end anywhere if its writer died: that is not damage. */
static void check_opened(struct check *c)
{
	int complete = tw_recording_info(c->recording)->complete != 0;
	for (size_t i = 0; i < tw_recording_n_problems(c->recording); i++) {
		const struct tw_problem *p = tw_recording_problem(c->recording, i);
		if (!complete && p->error == TW_ERR_TRUNCATED)
			printf("%s: was being written\n", p->text);
		else
			problem(c, "%s: %s", p->text, tw_error_text(p->error));
	}
}

/* What is missing although nothing is damaged, as reported by info and by the summary of record. */
static void print_missing(const struct check *c)
{
	const struct tw_totals *t = tw_recording_totals(c->recording);
	if (t->cut) {
		tw_tell_cut(stdout, t);
		printf(": still there when the process ended; what %s did until then is here\n", t->cut == 1 ? "it" : "they");
	}
	if (t->gaps)
		printf("%llu gap%s: something was not recorded there (trackway dump --raw says what)\n", (unsigned long long)t->gaps,
		       t->gaps == 1 ? "" : "s");
}

static void print_replayed(const struct check *c)
{
	const struct tw_totals *t = tw_recording_totals(c->recording);
	uint64_t blocks = 0, refs = 0;
	for (size_t i = 0; i < c->n_found; i++) {
		blocks += c->found[i].blocks;
		refs += c->found[i].refs;
	}
	printf("%llu blocks and %llu references replayed (threads: %llu, chunks: %llu)\n", (unsigned long long)blocks,
	       (unsigned long long)refs, (unsigned long long)t->threads, (unsigned long long)t->chunks);
}

/* Recording ended before anything could be stored. */
static int is_empty(const struct check *c)
{
	const struct tw_recording_info *info = tw_recording_info(c->recording);
	return !info->complete && !tw_recording_replayable(c->recording) && !tw_recording_totals(c->recording)->chunks;
}

static void conclude(const struct check *c)
{
	const struct tw_recording_info *info = tw_recording_info(c->recording);
	if (!c->problems && c->quiet && !is_empty(c))
		return;
	if (!c->problems && !info->complete) {
		fputs("incomplete: ", stdout);
		tw_print_safe(stdout, info->failure);
		putchar('\n');
	}
	if (c->problems)
		printf("%s: %lu problem%s found; ", c->dir, c->problems, c->problems == 1 ? "" : "s");
	else
		printf("%s: %s; ", c->dir, is_empty(c) ? "nothing is in it" : "good");
	if (info->sink == TW_SINK_COUNT)
		printf("it holds only totals\n");
	else
		print_replayed(c);
	print_missing(c);
}

static int run(struct check *c)
{
	static const struct tw_analyzer analyzer = {
	    .name = "check", .needs = TW_WANTS_NO_ADDRESSES, .begin = begin, .batch = batch, .merge = merge, .end = end};
	static const struct tw_good_chunks good = {take_good};
	struct tw_how_far how_far = {.command = "check"};
	struct tw_replay_options options = {.jobs = (unsigned)c->jobs,
	                                    .grain = 1,
	                                    .longest_first = 1,
	                                    .damage = damage,
	                                    .context = c,
	                                    .progress = tw_how_far_tell,
	                                    .progress_context = &how_far};
	const struct tw_recording_info *info = tw_recording_info(c->recording);
	check_opened(c);
	int error = tw_recording_replayable(c->recording) ? 0 : tw_replay_good(c->recording, &options, &analyzer, &good, c);
	if (error)
		return tw_recording_error("check", c->dir, error);
	for (size_t i = 0; i < tw_recording_n_threads(c->recording); i++)
		tell_damage(c, i);
	for (size_t i = 0; i < tw_recording_n_threads(c->recording); i++)
		check_thread(c, i);
	if (info->complete && info->sink != TW_SINK_COUNT && !tw_recording_n_problems(c->recording))
		check_totals(c);
	conclude(c);
	return c->problems != 0 || is_empty(c);
}

/* Returns -1 to go on, or an exit status. */
static int parse(struct check *c, int argc, char **argv)
{
	static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	static const struct tw_option_set set = {"check", ":j:qh", options};
	for (int option; (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;) {
		switch (option) {
		case 'j':
			if (!tw_parse_number(optarg, TW_MAX_JOBS, &c->jobs) || !c->jobs)
				return tw_usage_error("check", "-j wants a number from 1 to %d, not '%s'", TW_MAX_JOBS, optarg);
			break;
		case 'q':
			c->quiet = 1;
			break;
		case 'h':
			return fputs(help, stdout) < 0;
		default:
			return tw_wrong_option(&set, option, argv);
		}
	}
	return optind < argc ? -1 : tw_usage_error("check", "at least one recording is required");
}

static int check_one(const struct check *wanted, const char *dir)
{
	struct check c = *wanted;
	struct tw_recording *r;
	c.dir = dir;
	int error = tw_recording_open(dir, &r);
	if (error) {
		tw_recording_error("check", dir, error);
		return 2;
	}
	c.recording = r;
	int status = allocate(&c) ? run(&c) : tw_recording_error("check", dir, TW_ERR_MEMORY);
	release(&c);
	tw_recording_close(r);
	return status;
}

int tw_cmd_check(int argc, char **argv)
{
	struct check c = {.jobs = tw_default_jobs()};
	int worst = 0, status = parse(&c, argc, argv);
	if (status >= 0)
		return status;
	for (int i = optind; i < argc; i++) {
		status = check_one(&c, argv[i]);
		worst = status > worst ? status : worst;
	}
	return worst;
}
