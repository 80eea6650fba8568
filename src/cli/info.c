/* trackway info: what a recording holds, in figures. */
#include "cli/budget.h"
#include "cli/cli.h"
#include "cli/died.h"
#include "cli/engine.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/tree.h"
#include "recording/recording.h"
#include "report/json.h"
#include "report/printable.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

static const char help[] = "Usage: trackway info [OPTION]... DIR\n\n"
                           "Shows a summary of the recording in DIR: the program, where and when it ran, how\n"
                           "much it executed, the bytes stored, its processes, and its memory mappings:\n"
                           "modules (code) and data (files, heap, stacks, anonymous and shared memory), from\n"
                           "when to when, with the system call that created them.\n\n"
                           "  --mappings        all data mappings, not only the first 40\n"
                           "  --engine          only what the engine did: translation, exits from the code\n"
                           "                    cache, sharing between processes, time, memory\n"
                           "  --address 0xA     only what was mapped at this address, from when to when\n"
                           "  --json            print the same as JSON\n"
                           "  --help            print this help\n";

static const char *const stream_names[TW_NSTREAMS] = {"c", "m", "e"};
static const char *const stream_titles[TW_NSTREAMS] = {"tags (C)", "values (M)", "events (E)"};

static uint64_t sum(const uint64_t *streams, uint64_t code)
{
	return streams[TW_STREAM_C] + streams[TW_STREAM_M] + streams[TW_STREAM_E] + code;
}

static uint64_t raw_bytes(const struct tw_totals *t)
{
	return sum(t->raw, t->code_raw);
}

static uint64_t stored_bytes(const struct tw_totals *t)
{
	return sum(t->stored, t->code_stored);
}

static uint64_t coded_bytes(const struct tw_totals *t)
{
	return sum(t->coded, t->code_raw);
}

static double per_ref(const struct tw_totals *t, uint64_t bytes)
{
	return t->refs ? (double)bytes / (double)t->refs : 0;
}

static int is_killed(const struct tw_recording_info *info)
{
	return WIFSIGNALED(info->wait_status);
}

/* Whether the program's end is known: not while it runs, nor for an imported trace. */
static int has_ended(const struct tw_recording_info *info)
{
	return info->duration_ns != 0;
}

static void format_time(int64_t when, char *to, size_t n)
{
	time_t t = when;
	struct tm tm;
	localtime_r(&t, &tm);
	strftime(to, n, "%Y-%m-%d %H:%M:%S %z", &tm);
}

static void format_prot(uint32_t prot, char to[4])
{
	to[0] = prot & PROT_READ ? 'r' : '-';
	to[1] = prot & PROT_WRITE ? 'w' : '-';
	to[2] = prot & PROT_EXEC ? 'x' : '-';
	to[3] = 0;
}

/* ---- text ---- */

/* Nothing if the value is not known. */
static void print_line(const char *title, const char *value)
{
	if (!value[0])
		return;
	printf("%-16s", title);
	tw_print_safe(stdout, value);
	putchar('\n');
}

static void print_command(const struct tw_recording_info *info)
{
	printf("%-16s", "command");
	tw_print_command(stdout, (const char *const *)info->argv);
	putchar('\n');
}

enum { LET_GO = -1 }; /* wait_status of a program that was let go */

static void print_state(const struct tw_recording_info *info)
{
	printf("%-16s%s", "state", info->complete ? "complete" : "incomplete");
	if (info->failure[0]) {
		fputs(": ", stdout);
		tw_print_safe(stdout, info->failure);
	}
	putchar('\n');
	char name[24];
	if (has_ended(info) && info->wait_status == LET_GO)
		print_line("ended", "no: the program was released and continued natively (trackway stop)");
	else if (has_ended(info) && is_killed(info))
		printf("%-16skilled by signal %d (%s)\n", "ended", WTERMSIG(info->wait_status),
		       tw_signal_name(WTERMSIG(info->wait_status), name));
	else if (has_ended(info))
		printf("%-16sexit status %d\n", "ended", WEXITSTATUS(info->wait_status));
}

static void print_window(const struct tw_recording_info *info)
{
	if (!info->start_at[0] && !info->stop_at[0])
		return;
	printf("%-16s", "window");
	tw_print_safe(stdout, info->start_at[0] ? info->start_at : "the start");
	fputs(" to ", stdout);
	tw_print_safe(stdout, info->stop_at[0] ? info->stop_at : "the end");
	if (info->start_at[0] && info->complete)
		printf(", opened %llu time%s", (unsigned long long)info->windows, info->windows == 1 ? "" : "s");
	putchar('\n');
}

static void print_dropped(const struct tw_recording *r)
{
	const uint64_t dropped = tw_recording_info(r)->dropped, kept = tw_recording_totals(r)->insns;
	char share[32];
	if (dropped)
		printf("%-16sthe last %s: %llu instructions before were dropped (--ring)\n", "kept",
		       tw_percent(kept, kept + dropped, share), (unsigned long long)dropped);
}

static void print_attached(const struct tw_recording_info *info)
{
	char when[64];
	format_time(info->start, when, sizeof when);
	if (info->attached)
		printf("%-16sattached at %s to running process %u\n", "beginning", when, info->attached);
}

static void print_order(const struct tw_recording_info *info)
{
	if (info->tsc_hz)
		printf("%-16stime stamp counter at %.6f GHz, %s\n", "clock", (double)info->tsc_hz / 1e9,
		       info->tsc_invariant ? "invariant" : "not invariant: times of different cores may not agree");
	if (info->order)
		print_line("order", "locked instructions and fences are stamped (--order)");
	if (info->calls[0])
		print_line("calls", info->calls);
}

/* Calls fn once for each module instrumented by trackway cc: recordings of such programs have no others. */
static void each_instrumented(const struct tw_recording *r, void (*fn)(void *, const char *), void *arg)
{
	for (size_t i = 0; tw_recording_info(r)->instrumented && i < tw_recording_n_modules(r); i++) {
		const char *path = tw_recording_module(r, i)->path;
		size_t k = 0;
		while (strcmp(tw_recording_module(r, k)->path, path))
			k++;
		if (k == i)
			fn(arg, path);
	}
}

static void print_one(void *between, const char *path)
{
	fputs(*(const char **)between, stdout);
	tw_print_safe(stdout, path);
	*(const char **)between = ", ";
}

static void print_instrumented(const struct tw_recording *r)
{
	const struct tw_recording_info *info = tw_recording_info(r);
	const char *between = ": ";
	if (!info->instrumented)
		return;
	printf("%-16sby trackway cc", "instrumented");
	each_instrumented(r, print_one, &between);
	putchar('\n');
	if (info->every)
		printf("%-16s%g ms every %g ms\n", "bursts", (double)info->burst / 1e6, (double)info->every / 1e6);
}

static void print_about(const struct tw_recording *r)
{
	const struct tw_recording_info *info = tw_recording_info(r);
	char when[64];
	format_time(info->start, when, sizeof when);
	print_line("program", info->program);
	print_command(info);
	print_line("directory", info->cwd);
	print_line("host", info->host);
	print_line("cpu", info->cpu);
	print_line("kernel", info->kernel);
	print_line("start", when);
	print_attached(info);
	if (has_ended(info))
		printf("%-16s%.3f s\n", "elapsed", (double)info->duration_ns / 1e9);
	print_line("format", tw_format_name(info->format));
	print_line("sink", tw_sink_name(info->sink));
	print_line("children", info->follow == TW_FOLLOW_NONE ? "not recorded (--follow=none)" : "recorded");
	print_instrumented(r);
	print_window(info);
	print_dropped(r);
	print_order(info);
	print_state(info);
}

static void print_count(const char *title, uint64_t n)
{
	printf("%-16s%20llu\n", title, (unsigned long long)n);
}

static void print_refs(uint32_t format, const struct tw_totals *t)
{
	if (!tw_format_has_refs(format)) {
		printf("%-16s%20s\n", "references", "not recorded");
		return;
	}
	print_count("references", t->refs);
	print_count("  reads", t->reads);
	print_count("  writes", t->writes);
}

static void print_counts(uint32_t format, const struct tw_totals *t)
{
	putchar('\n');
	if (format == TW_FORMAT_NONE) {
		puts("Format none: what the program did was not recorded.");
		return;
	}
	print_count("threads", t->threads);
	print_count("fragments", t->fragments);
	print_count("instructions", t->insns);
	print_count("blocks", t->blocks);
	print_refs(format, t);
	print_count("chunks", t->chunks);
	if (t->written)
		print_count("bytes written", t->written);
	if (t->uncounted)
		printf("estimated from        %10.1f %% of them\n", 100 * (1 - (double)t->uncounted / (double)t->written));
	print_count("gaps", t->gaps);
	print_count("cut off at exit", t->cut);
	print_count("time stamps", t->stamps);
}

static void print_bytes(const char *title, uint64_t raw, uint64_t coded, uint64_t stored)
{
	printf("%-16s%20llu%20llu%20llu\n", title, (unsigned long long)raw, (unsigned long long)coded, (unsigned long long)stored);
}

static void print_sizes(const struct tw_totals *t)
{
	printf("\n%-16s%20s%20s%20s\n", "bytes", "raw", "transformed", "stored");
	for (int i = 0; i < TW_NSTREAMS; i++)
		print_bytes(stream_titles[i], t->raw[i], t->coded[i], t->stored[i]);
	print_bytes("code", t->code_raw, t->code_raw, t->code_stored);
	print_bytes("all", raw_bytes(t), coded_bytes(t), stored_bytes(t));
	if (t->refs)
		printf("%-16s%20.3f%20.3f%20.3f\n", "per reference", per_ref(t, raw_bytes(t)), per_ref(t, coded_bytes(t)),
		       per_ref(t, stored_bytes(t)));
}

/* Each with its process, where there are several. */
static void print_modules(const struct tw_recording *r)
{
	size_t n = tw_recording_n_modules(r), several = tw_recording_n_processes(r) > 1;
	if (n)
		printf("\nmodules\n");
	for (size_t i = 0; i < n; i++) {
		const struct tw_module *m = tw_recording_module(r, i);
		char prot[4];
		format_prot(m->prot, prot);
		if (several)
			printf("%8u", m->pid);
		printf("  %012llx-%012llx %s %8llx ", (unsigned long long)m->address, (unsigned long long)(m->address + m->length), prot,
		       (unsigned long long)m->offset);
		tw_print_safe(stdout, m->path);
		putchar('\n');
	}
}

static void print_problems(const struct tw_recording *r)
{
	size_t n = tw_recording_n_problems(r);
	if (n)
		printf("\nproblems\n");
	for (size_t i = 0; i < n; i++) {
		const struct tw_problem *p = tw_recording_problem(r, i);
		printf("  %s (%s)\n", p->text, tw_error_text(p->error));
	}
}

static int print_text(const struct tw_recording *r, size_t mappings)
{
	print_about(r);
	print_counts(tw_recording_info(r)->format, tw_recording_totals(r));
	if (tw_recording_info(r)->format != TW_FORMAT_NONE)
		print_sizes(tw_recording_totals(r));
	tw_budget_print(r);
	tw_died_print(stdout, r, NULL);
	tw_tree_print(r);
	print_modules(r);
	int error = tw_memory_print(r, mappings);
	print_problems(r);
	return error;
}

/* ---- JSON ---- */

static void json_one(void *json, const char *path)
{
	tw_json_text(json, NULL, path);
}

static void json_instrumented(struct tw_json *j, const struct tw_recording *r)
{
	const struct tw_recording_info *info = tw_recording_info(r);
	if (!info->instrumented)
		return;
	tw_json_open(j, "instrumented", '[');
	each_instrumented(r, json_one, j);
	tw_json_close(j, ']');
	if (!info->every)
		return;
	tw_json_real(j, "burst", (double)info->burst / 1e9);
	tw_json_real(j, "every", (double)info->every / 1e9);
}

static void json_about(struct tw_json *j, const struct tw_recording_info *info)
{
	tw_json_number(j, "version", info->version);
	tw_json_text(j, "state", info->complete ? "complete" : "incomplete");
	tw_json_text(j, "failure", info->failure);
	tw_json_text(j, "program", info->program);
	tw_json_open(j, "command", '[');
	for (int i = 0; i < info->argc; i++)
		tw_json_text(j, NULL, info->argv[i]);
	tw_json_close(j, ']');
	tw_json_text(j, "directory", info->cwd);
	tw_json_text(j, "host", info->host);
	tw_json_text(j, "cpu", info->cpu);
	tw_json_text(j, "kernel", info->kernel);
	tw_json_signed(j, "start", info->start);
	tw_json_number(j, "tsc_start", info->tsc_start);
	tw_json_number(j, "tsc_hz", info->tsc_hz);
	tw_json_number(j, "tsc_invariant", info->tsc_invariant);
	tw_json_number(j, "order", info->order);
	tw_json_text(j, "calls", info->calls);
	tw_json_text(j, "format", tw_format_name(info->format));
	tw_json_text(j, "sink", tw_sink_name(info->sink));
	tw_json_text(j, "follow", tw_follow_name(info->follow));
	if (info->attached)
		tw_json_number(j, "attached", info->attached);
	if (info->start_at[0])
		tw_json_text(j, "start_at", info->start_at);
	if (info->stop_at[0])
		tw_json_text(j, "stop_at", info->stop_at);
	if (info->start_at[0] || info->stop_at[0])
		tw_json_number(j, "windows", info->windows);
	if (info->dropped)
		tw_json_number(j, "dropped", info->dropped);
	if (!has_ended(info))
		return;
	tw_json_real(j, "elapsed", (double)info->duration_ns / 1e9);
	if (info->wait_status == LET_GO)
		tw_json_number(j, "let_go", 1);
	else if (is_killed(info))
		tw_json_signed(j, "signal", WTERMSIG(info->wait_status));
	else
		tw_json_signed(j, "exit_status", WEXITSTATUS(info->wait_status));
}

static void json_stream(struct tw_json *j, const char *name, uint64_t raw, uint64_t coded, uint64_t stored)
{
	tw_json_open(j, name, '{');
	tw_json_number(j, "raw_bytes", raw);
	tw_json_number(j, "transformed_bytes", coded);
	tw_json_number(j, "stored_bytes", stored);
	tw_json_close(j, '}');
}

static void json_totals(struct tw_json *j, const struct tw_totals *t)
{
	tw_json_number(j, "threads", t->threads);
	tw_json_number(j, "fragments", t->fragments);
	tw_json_number(j, "instructions", t->insns);
	tw_json_number(j, "blocks", t->blocks);
	tw_json_number(j, "refs", t->refs);
	tw_json_number(j, "reads", t->reads);
	tw_json_number(j, "writes", t->writes);
	tw_json_number(j, "chunks", t->chunks);
	tw_json_number(j, "gaps", t->gaps);
	tw_json_number(j, "cut_at_exit", t->cut);
	tw_json_number(j, "stamps", t->stamps);
	tw_json_number(j, "written_bytes", t->written);
	tw_json_number(j, "uncounted_bytes", t->uncounted);
	tw_json_number(j, "raw_bytes", raw_bytes(t));
	tw_json_number(j, "transformed_bytes", coded_bytes(t));
	tw_json_number(j, "stored_bytes", stored_bytes(t));
	tw_json_real(j, "bytes_per_ref", per_ref(t, stored_bytes(t)));
	tw_json_open(j, "streams", '{');
	for (int i = 0; i < TW_NSTREAMS; i++)
		json_stream(j, stream_names[i], t->raw[i], t->coded[i], t->stored[i]);
	json_stream(j, "code", t->code_raw, t->code_raw, t->code_stored);
	tw_json_close(j, '}');
}

static void json_modules(struct tw_json *j, const struct tw_recording *r)
{
	tw_json_open(j, "modules", '[');
	for (size_t i = 0; i < tw_recording_n_modules(r); i++) {
		const struct tw_module *m = tw_recording_module(r, i);
		char prot[4];
		format_prot(m->prot, prot);
		tw_json_open(j, NULL, '{');
		tw_json_number(j, "pid", m->pid);
		tw_json_number(j, "address", m->address);
		tw_json_number(j, "length", m->length);
		tw_json_number(j, "offset", m->offset);
		tw_json_text(j, "protection", prot);
		tw_json_text(j, "path", m->path);
		tw_json_close(j, '}');
	}
	tw_json_close(j, ']');
}

static void json_problems(struct tw_json *j, const struct tw_recording *r)
{
	tw_json_open(j, "problems", '[');
	for (size_t i = 0; i < tw_recording_n_problems(r); i++) {
		const struct tw_problem *p = tw_recording_problem(r, i);
		tw_json_open(j, NULL, '{');
		tw_json_text(j, "error", tw_error_text(p->error));
		tw_json_text(j, "where", p->text);
		tw_json_close(j, '}');
	}
	tw_json_close(j, ']');
}

static int print_json(const struct tw_recording *r)
{
	struct tw_json j = {.f = stdout};
	tw_json_begin(&j, "info");
	json_about(&j, tw_recording_info(r));
	json_instrumented(&j, r);
	json_totals(&j, tw_recording_totals(r));
	tw_engine_json(&j, tw_recording_info(r));
	tw_budget_json(&j, r);
	tw_died_json(&j, r, NULL);
	tw_tree_json(&j, r);
	json_modules(&j, r);
	int error = tw_memory_json(&j, r, NULL);
	json_problems(&j, r);
	tw_json_close(&j, '}');
	return error;
}

static int print_address(const struct tw_recording *r, const char *dir, uint64_t address, int json)
{
	struct tw_json j = {.f = stdout};
	if (!json) {
		int error = tw_memory_print_address(r, address);
		if (error == 1)
			fprintf(stderr, "trackway info: %s: no mapping at 0x%llx is known\n", dir, (unsigned long long)address);
		return error;
	}
	tw_json_begin(&j, "info-address");
	tw_json_number(&j, "address", address);
	int error = tw_memory_json(&j, r, &address);
	tw_json_close(&j, '}');
	return error;
}

/* ---- the command ---- */

/* With or without 0x, as dump prints it. */
static int parse_address(const char *text, uint64_t *out)
{
	char *end;
	*out = strtoull(text, &end, 16);
	return *text && *text != '-' && *text != '+' && *text != ' ' && !*end;
}

int tw_cmd_info(int argc, char **argv)
{
	enum { OPTION_MAPPINGS = 256, OPTION_ADDRESS, OPTION_ENGINE, OPTION_JSON };
	static const struct option options[] = {
	    {"mappings", no_argument, NULL, OPTION_MAPPINGS},
	    {"engine", no_argument, NULL, OPTION_ENGINE},
	    {"address", required_argument, NULL, OPTION_ADDRESS},
	    {"json", no_argument, NULL, OPTION_JSON},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	static const struct tw_option_set set = {"info", ":h", options};
	int json = 0, has_address = 0, engine = 0;
	size_t mappings = 40;
	uint64_t address = 0;
	for (int option; (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;) {
		if (option == 'h')
			return fputs(help, stdout) < 0;
		if (option == OPTION_JSON)
			json = 1;
		else if (option == OPTION_MAPPINGS)
			mappings = 0;
		else if (option == OPTION_ENGINE)
			engine = 1;
		else if (option != OPTION_ADDRESS)
			return tw_wrong_option(&set, option, argv);
		else if (!parse_address(optarg, &address))
			return tw_usage_error("info", "--address wants a hexadecimal address, as 0x7f0012340000, not '%s'", optarg);
		else
			has_address = 1;
	}
	if (argc - optind != 1)
		return tw_usage_error("info", "exactly one recording is required");
	struct tw_recording *r;
	int error = tw_recording_open(argv[optind], &r);
	if (error)
		return tw_recording_error("info", argv[optind], error);
	if (has_address)
		error = print_address(r, argv[optind], address, json);
	else if (engine && !json)
		tw_engine_print(tw_recording_info(r));
	else
		error = json ? print_json(r) : print_text(r, mappings);
	tw_recording_close(r);
	return error < 0 ? tw_recording_error("info", argv[optind], error) : error;
}
