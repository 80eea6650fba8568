/* trackway dump: references, blocks, code or streams as text, or as a trace for a simulator. */
#include "cli/cli.h"
#include "cli/options.h"
#include "export/code.h"
#include "export/lines.h"
#include "export/outfile.h"
#include "export/raw.h"
#include "export/times.h"
#include "recording/recording.h"
#include "report/printable.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <trackway/names.h>
#include <unistd.h>

static const char help[] = "Usage: trackway dump [OPTION]... DIR\n\n"
                           "Prints a recording as text, one thread after another.\n\n"
                           "What to print:\n"
                           "  --refs      one line per memory reference (default): thread, address of the\n"
                           "              instruction, R, W or M (modify), address, bytes. Addresses are\n"
                           "              hexadecimal without 0x and leading zeros; the rest is decimal.\n"
                           "              The line of an access that faulted, and so was not made, ends\n"
                           "              with \"faulted\"; X is an instruction fetch\n"
                           "  --blocks    one line per block executed: thread, address, instructions,\n"
                           "              ending (fall jump cond call return ijump icall syscall trap,\n"
                           "              stopped by a signal, or unknown in an imported trace)\n"
                           "  --lackey    the output of valgrind --tool=lackey --trace-mem=yes\n"
                           "  --champsim  a trace for the simulator ChampSim: a binary record per\n"
                           "              instruction of one thread\n"
                           "  --order     one line per event with a time, of all threads, in time order:\n"
                           "              cycles since the start, thread, address of the instruction, and\n"
                           "              kind: lock-before and lock-after (or mfence-, lfence-, sfence-;\n"
                           "              record --order), syscall with its number and start time, call\n"
                           "              and return of functions (record --calls), keyframe, thread-start,\n"
                           "              fork...\n"
                           "  --syscalls  one line per system call, of all threads, in the order in which\n"
                           "              they returned: start time, thread, process and thread id, the\n"
                           "              call, its result, its duration, and the calling function\n"
                           "  --code      the fragments of code, in words\n"
                           "  --raw       the streams as they are stored\n\n"
                           "Selection and output:\n"
                           "  --thread N  only this thread, numbered from 0 as in trackway info\n"
                           "  --from K    skip the first K references, blocks, instructions (--lackey,\n"
                           "              --champsim), fragments (--code), chunks (--raw) or lines (--order)\n"
                           "  --count K   print at most K of them\n"
                           "  --last K    only the last K references, blocks or instructions of each thread\n"
                           "  -o FILE     write to FILE; - is standard output\n"
                           "  -j N        replay with N threads (default 1)\n"
                           "  --help      print this help\n\n"
                           "For example, which pages the writes among the first million references went to:\n\n"
                           "  trackway dump --count 1000000 gzip.tw | awk '$3 != \"R\" {\n"
                           "    n[substr($4, 1, length($4) - 3)]++ } END { for (p in n) print n[p], p }'\n";

enum mode { MODE_REFS, MODE_BLOCKS, MODE_LACKEY, MODE_CHAMPSIM, MODE_CODE, MODE_RAW, MODE_ORDER, MODE_SYSCALLS };

struct dump {
	const char *dir, *output;
	enum mode mode;
	int n_modes;
	int64_t thread; /* -1: all */
	uint64_t from, count, last, jobs;
	int has_range; /* --from or --count was given */
	int fd;
	struct tw_recording *recording;
	struct tw_damage damage;
};

/* ---- code and streams ---- */

static int in_range(const struct dump *d, uint64_t i)
{
	return i >= d->from && i - d->from < d->count;
}

static void print_code(struct dump *d, struct tw_text *t)
{
	size_t n = tw_recording_n_descriptors(d->recording);
	for (size_t i = 0; i < n && !t->error; i++)
		if (in_range(d, i))
			tw_code_print(t, tw_recording_descriptor_at(d->recording, i));
}

static void print_chunk(struct dump *d, struct tw_text *t, size_t thread, size_t chunk)
{
	struct tw_chunk c;
	int error = tw_recording_chunk(d->recording, thread, chunk, &c);
	if (!error)
		error = tw_raw_print(t, d->recording, &c);
	tw_chunk_release(&c);
	if (error)
		tw_damage_report(&d->damage, thread, chunk, error);
}

static void print_raw(struct dump *d, struct tw_text *t)
{
	uint64_t position = 0;
	for (size_t i = 0; i < tw_recording_n_threads(d->recording); i++) {
		const struct tw_thread_info *info = tw_recording_thread(d->recording, i);
		if (d->thread >= 0 && d->thread != info->serial)
			continue;
		for (size_t c = 0; c < info->n_chunks && !t->error; c++, position++)
			if (in_range(d, position))
				print_chunk(d, t, i, c);
	}
}

static int print_times(struct dump *d, struct tw_text *t)
{
	struct tw_names *names = d->mode == MODE_SYSCALLS ? tw_names_open(d->recording, NULL) : NULL;
	const struct tw_times_options options = {
	    .syscalls = names,
	    .one_thread = d->thread,
	    .from = d->from,
	    .count = d->count,
	    .damage = tw_damage_report,
	    .context = &d->damage,
	};
	int error = names || d->mode != MODE_SYSCALLS ? tw_times_print(t, d->recording, &options) : TW_ERR_MEMORY;
	tw_names_close(names);
	return error;
}

/* ---- the command ---- */

/* A write failed. A reader that reads only the beginning of our output is not an error. */
static int write_failed(const struct dump *d, int why)
{
	if (why == EPIPE)
		return 0;
	fprintf(stderr, "trackway dump: cannot write %s: %s\n", d->output ? d->output : "standard output", strerror(why));
	return 1;
}

static int print_lines(struct dump *d)
{
	static const enum tw_lines_kind kinds[] = {[MODE_REFS] = TW_LINES_REFS,
	                                           [MODE_BLOCKS] = TW_LINES_BLOCKS,
	                                           [MODE_LACKEY] = TW_LINES_LACKEY,
	                                           [MODE_CHAMPSIM] = TW_LINES_CHAMPSIM};
	struct tw_lines_options options = {
	    .kind = kinds[d->mode],
	    .fd = d->fd,
	    .jobs = (unsigned)d->jobs,
	    .one_thread = d->thread,
	    .last = d->last,
	    .from = d->from,
	    .count = d->count,
	    .damage = tw_damage_report,
	    .context = &d->damage,
	};
	int error = tw_lines(d->recording, &options);
	if (error == TW_LINES_WRITE)
		return write_failed(d, errno);
	return error ? tw_recording_error("dump", d->dir, error) : 0;
}

static int print_words(struct dump *d)
{
	struct tw_text text;
	int failed = 0;
	tw_text_init(&text, d->fd);
	if (d->mode == MODE_CODE)
		print_code(d, &text);
	else if (d->mode == MODE_RAW)
		print_raw(d, &text);
	else
		failed = print_times(d, &text);
	tw_text_flush(&text, d->fd);
	int error = text.error;
	tw_text_free(&text);
	if (failed)
		return tw_recording_error("dump", d->dir, failed);
	return error ? write_failed(d, error) : 0;
}

static int has_thread(const struct dump *d)
{
	for (size_t i = 0; i < tw_recording_n_threads(d->recording); i++)
		if (tw_recording_thread(d->recording, i)->serial == d->thread)
			return 1;
	return d->thread < 0;
}

/* A trace for the simulator has instructions of one thread. */
static int is_refused_champsim(const struct dump *d)
{
	const size_t n = tw_recording_n_threads(d->recording);
	if (!tw_recording_info(d->recording)->tsc_start)
		return fprintf(stderr, "trackway dump: %s: this was imported from addresses only, without instructions\n", d->dir);
	if (n > 1 && d->thread < 0)
		return fprintf(stderr, "trackway dump: %s has %zu threads, and a trace for ChampSim has one: choose it with --thread\n",
		               d->dir, n);
	if (!d->output && isatty(STDOUT_FILENO))
		return fprintf(stderr, "trackway dump: a trace for ChampSim is no text: write it to a file (-o) or a pipe\n");
	return 0;
}

/* What the recording does not hold is said. Returns whether something was. */
static int is_refused(const struct dump *d)
{
	const struct tw_recording_info *info = tw_recording_info(d->recording);
	int error = tw_recording_replayable(d->recording);
	if (error)
		return tw_recording_error("dump", d->dir, error);
	if (!has_thread(d))
		return fprintf(stderr, "trackway dump: %s: there is no thread %lld in this recording\n", d->dir, (long long)d->thread);
	if (d->mode == MODE_REFS && !tw_format_has_refs(info->format))
		return fprintf(stderr, "trackway dump: %s: a recording of format %s holds no memory references; --blocks shows what ran\n",
		               d->dir, tw_format_name(info->format));
	if (d->mode == MODE_CHAMPSIM && is_refused_champsim(d))
		return 1;
	if (d->mode >= MODE_ORDER && !info->tsc_start)
		return fprintf(stderr, "trackway dump: %s: this was imported from addresses only, which have no times\n", d->dir);
	if ((d->mode == MODE_LACKEY || d->mode == MODE_CHAMPSIM) && !tw_format_has_refs(info->format))
		fprintf(stderr, "trackway dump: %s: a recording of format %s holds no memory references: only instructions are printed\n",
		        d->dir, tw_format_name(info->format));
	return 0;
}

static int run(struct dump *d)
{
	d->damage = (struct tw_damage){.command = "dump", .recording = d->recording};
	if (is_refused(d))
		return 1;
	if (d->output && tw_is_part_of(d->output, d->dir))
		return fprintf(stderr, "trackway dump: %s is a part of the recording and is not written over\n", d->output), 1;
	struct tw_outfile to;
	int error = tw_outfile_open(&to, d->output ? d->output : "-");
	if (error)
		return tw_recording_error("dump", d->dir, error);
	d->fd = fileno(to.f);
	size_t problems = tw_problems_report("dump", d->recording);
	int status = d->mode <= MODE_CHAMPSIM ? print_lines(d) : print_words(d);
	error = tw_outfile_close(&to, !status);
	if (error)
		status = tw_recording_error("dump", d->dir, error);
	return status ? status : problems || d->damage.chunks;
}

static int set_mode(struct dump *d, enum mode mode)
{
	d->mode = mode;
	return ++d->n_modes > 1
	           ? tw_usage_error(
	                 "dump", "only one of --refs, --blocks, --lackey, --champsim, --code, --raw, --order and --syscalls can be given")
	           : -1;
}

static int set_number(const char *option, const char *text, uint64_t most, uint64_t *out)
{
	return tw_parse_number(text, most, out) ? -1 : tw_usage_error("dump", "%s wants a number, not '%s'", option, text);
}

enum { OPTION_THREAD = 256, OPTION_FROM, OPTION_COUNT, OPTION_LAST, OPTION_MODE };

/* Takes one option. Returns -1 to go on, or an exit status. */
static int take_option(struct dump *d, int option, const struct tw_option_set *set, char **argv)
{
	uint64_t n;
	int status;
	switch (option) {
	case OPTION_THREAD:
		status = set_number("--thread", optarg, UINT32_MAX, &n);
		if (status < 0)
			d->thread = (int64_t)n;
		return status;
	case OPTION_LAST:
		return tw_parse_number(optarg, UINT64_MAX, &d->last) && d->last
		           ? -1
		           : tw_usage_error("dump", "--last wants a number above 0, not '%s'", optarg);
	case OPTION_FROM:
		d->has_range = 1;
		return set_number("--from", optarg, UINT64_MAX, &d->from);
	case OPTION_COUNT:
		d->has_range = 1;
		return set_number("--count", optarg, UINT64_MAX, &d->count);
	case 'o':
		d->output = strcmp(optarg, "-") ? optarg : NULL;
		return -1;
	case 'j':
		if (!tw_parse_number(optarg, TW_MAX_JOBS, &d->jobs) || !d->jobs)
			return tw_usage_error("dump", "-j wants a number from 1 to %d, not '%s'", TW_MAX_JOBS, optarg);
		return -1;
	case 'h':
		return fputs(help, stdout) < 0;
	default:
		return option >= OPTION_MODE ? set_mode(d, (enum mode)(option - OPTION_MODE)) : tw_wrong_option(set, option, argv);
	}
}

static int parse(struct dump *d, int argc, char **argv)
{
	static const struct option options[] = {
	    {"refs", no_argument, NULL, OPTION_MODE + MODE_REFS},
	    {"blocks", no_argument, NULL, OPTION_MODE + MODE_BLOCKS},
	    {"lackey", no_argument, NULL, OPTION_MODE + MODE_LACKEY},
	    {"champsim", no_argument, NULL, OPTION_MODE + MODE_CHAMPSIM},
	    {"code", no_argument, NULL, OPTION_MODE + MODE_CODE},
	    {"raw", no_argument, NULL, OPTION_MODE + MODE_RAW},
	    {"order", no_argument, NULL, OPTION_MODE + MODE_ORDER},
	    {"syscalls", no_argument, NULL, OPTION_MODE + MODE_SYSCALLS},
	    {"thread", required_argument, NULL, OPTION_THREAD},
	    {"from", required_argument, NULL, OPTION_FROM},
	    {"count", required_argument, NULL, OPTION_COUNT},
	    {"last", required_argument, NULL, OPTION_LAST},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	static const struct tw_option_set set = {"dump", ":o:j:h", options};
	int status = -1;
	for (int option; status < 0 && (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;)
		status = take_option(d, option, &set, argv);
	if (status < 0 && d->mode == MODE_CODE && d->thread >= 0)
		status = tw_usage_error("dump", "--thread is about what a thread did: code is of all");
	if (status < 0 && d->last && d->has_range)
		status = tw_usage_error("dump", "--last and --from or --count exclude each other");
	if (status < 0 && d->last && d->mode > MODE_CHAMPSIM)
		status = tw_usage_error("dump", "--last is about --refs, --blocks, --lackey and --champsim");
	if (status < 0 && argc - optind != 1)
		status = tw_usage_error("dump", "exactly one recording is required");
	d->dir = status < 0 ? argv[optind] : NULL;
	return status;
}

int tw_cmd_dump(int argc, char **argv)
{
	struct dump d = {.thread = -1, .count = UINT64_MAX, .jobs = 1};
	int status = parse(&d, argc, argv);
	if (status >= 0)
		return status;
	int error = tw_recording_open(d.dir, &d.recording);
	if (error)
		return tw_recording_error("dump", d.dir, error);
	const struct tw_recording_info *info = tw_recording_info(d.recording);
	if (!info->complete) {
		fprintf(stderr, "trackway dump: %s is incomplete: ", d.dir);
		tw_print_safe(stderr, info->failure);
		fputc('\n', stderr);
	}
	status = run(&d);
	tw_recording_close(d.recording);
	return status;
}
