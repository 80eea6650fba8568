#include "cli/exports.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "export/autofdo.h"
#include "export/callgrind.h"
#include "export/fdata.h"
#include "export/lcov.h"
#include "export/outfile.h"
#include "export/simpoint.h"
#include "recording/recording.h"
#include "replay/together.h"

#include <errno.h>
#include <string.h>

int tw_exports_option(struct tw_exports *e, const char *command, int option, const char *argument)
{
	switch (option) {
	case TW_EXPORT_CALLGRIND:
		e->callgrind = argument;
		return 1;
	case TW_EXPORT_LCOV:
		e->lcov = argument;
		return 1;
	case TW_EXPORT_SIMPOINT:
		e->simpoint = argument;
		return 1;
	case TW_EXPORT_FDATA:
		e->fdata = argument;
		return 1;
	case TW_EXPORT_AUTOFDO:
		e->autofdo = argument;
		return 1;
	case TW_EXPORT_MODULE:
		e->module = argument;
		return 1;
	case TW_EXPORT_INTERVAL:
		if (tw_parse_number(argument, UINT64_MAX, &e->interval) && e->interval)
			return 1;
		tw_usage_error(command, "--interval wants a number of instructions, not '%s'", argument);
		return -1;
	default:
		return 0;
	}
}

int tw_exports_need_profile(const struct tw_exports *e)
{
	return e->lcov || e->fdata || e->autofdo;
}

int tw_exports_wanted(const struct tw_exports *e)
{
	return e->callgrind || e->simpoint || tw_exports_need_profile(e);
}

int tw_exports_to_stdout(const struct tw_exports *e)
{
	const char *const names[] = {e->callgrind, e->lcov, e->simpoint, e->fdata, e->autofdo};
	int n = 0;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		n += names[i] && !strcmp(names[i], "-");
	return n;
}

int tw_exports_check(const struct tw_exports *e, const char *command)
{
	if (e->interval && !e->simpoint)
		return tw_usage_error(command, "--interval is about vectors: --simpoint is required, too");
	if (e->module && !tw_exports_need_profile(e))
		return tw_usage_error(command, "--module is about a profile: --fdata, --autofdo or --lcov is required, too");
	return -1;
}

/* ---- files ---- */

/* Writes one output. `path`: of its ELF file. */
typedef int write_fn(const struct tw_exports_source *s, const char *path, FILE *f);

static int write_file(const struct tw_exports_source *s, const char *name, const char *path, write_fn *write)
{
	if (tw_is_part_of(name, s->dir))
		return tw_fail(TW_ERR_SYSTEM, "%s is a part of the recording and is not written over", name);
	struct tw_outfile to;
	int error = tw_outfile_open(&to, name);
	if (error)
		return error;
	error = write(s, path, to.f);
	const int closed = tw_outfile_close(&to, !error);
	return error ? error : closed;
}

/* One replay for everything wanted: outputs join it one after another, and the last one has it run. */
struct shared_replay {
	const struct tw_exports_source *source;
	struct tw_together members[3]; /* vectors, the profile, calls */
	size_t n;
	int done; /* calls may be replayed once more, alone */
};

/* Replays all members, and `analyzer`. */
static int replay_all(void *shared, const struct tw_recording *r, const struct tw_replay_options *replay,
                      const struct tw_analyzer *analyzer, void *arg)
{
	struct shared_replay *s = shared;
	s->members[s->n++] = (struct tw_together){analyzer, arg};
	s->done = 1;
	return tw_replay_together(r, replay, s->members, s->n);
}

/* The profile's turn comes when calls are a member. */
static int replay_with_profile(void *shared, const struct tw_recording *r, const struct tw_replay_options *replay,
                               const struct tw_analyzer *analyzer, void *arg)
{
	struct shared_replay *s = shared;
	const struct tw_profile_options options = {.replay = *replay, .run = replay_all, .run_context = s};
	if (s->done)
		return tw_replay(r, replay, analyzer, arg);
	if (!s->source->needs_profile)
		return replay_all(s, r, replay, analyzer, arg);
	s->members[s->n++] = (struct tw_together){analyzer, arg};
	return tw_profile_recording(r, &options, s->source->profile);
}

static int write_callgrind(const struct tw_exports_source *s, const char *path, FILE *f)
{
	const struct tw_callgrind_replay by = {replay_with_profile, s->shared};
	uint32_t format = tw_recording_info(s->recording)->format;
	int error = tw_callgrind(s->recording, &s->replay, s->names, &by, f);
	(void)path;
	if (!error && !tw_format_has_refs(format))
		fprintf(stderr, "trackway blocks: a recording of format %s holds no memory references: Dr and Dw are 0 in --callgrind\n",
		        tw_format_name(format));
	return error;
}

static int write_lcov(const struct tw_exports_source *s, const char *path, FILE *f)
{
	size_t left_out;
	int error = tw_lcov(s->profile, s->symbols, path, f, &left_out);
	if (!error && left_out)
		fprintf(stderr, "trackway blocks: coverage: %zu source file%s left out, which cannot be read\n", left_out,
		        left_out == 1 ? " is" : "s are");
	return error;
}

/* Writes what is about one file. */
static int write_of_file(const struct tw_exports_source *s, const char *path, FILE *f,
                         int (*write)(const struct tw_file_profile *, const struct tw_symbols *, const char *, FILE *))
{
	struct tw_file_profile p;
	int error = tw_file_profile(s->profile, s->symbols, path, &p);
	if (error)
		return error;
	error = write(&p, s->symbols, path, f);
	tw_file_profile_free(&p);
	return error;
}

static int write_fdata(const struct tw_exports_source *s, const char *path, FILE *f)
{
	return write_of_file(s, path, f, tw_fdata);
}

static int write_autofdo(const struct tw_exports_source *s, const char *path, FILE *f)
{
	return write_of_file(s, path, f, tw_autofdo);
}

/* The path of the meant file, as it was mapped; NULL: none. */
static const char *find_module(const struct tw_exports *e, const struct tw_exports_source *s)
{
	return tw_symbols_find_file(s->symbols, e->module ? e->module : tw_recording_info(s->recording)->program);
}

/* Whether the recording was made of a bare address stream (trackway import). */
static int has_no_code(const struct tw_recording *r)
{
	return tw_recording_n_descriptors(r) && tw_descriptor_blocks(tw_recording_descriptor_at(r, 0))->end == TW_END_UNKNOWN;
}

/* Does the necessary replay: it gives the profile, and writes the other outputs. */
static int replay_for(const struct tw_exports *e, const struct tw_exports_source *source)
{
	struct tw_simpoint vectors = {source->recording, e->simpoint, e->interval ? e->interval : TW_INTERVAL};
	struct shared_replay shared = {.source = source};
	struct tw_exports_source s = *source;
	const struct tw_profile_options options = {.replay = s.replay, .run = replay_all, .run_context = &shared};
	int error = e->simpoint ? tw_simpoint_check(&vectors) : 0;
	s.shared = &shared;
	if (error)
		return error;
	if (e->simpoint && (e->callgrind || s.needs_profile))
		shared.members[shared.n++] = (struct tw_together){&tw_simpoint_analyzer, &vectors};
	if (e->callgrind)
		return write_file(&s, e->callgrind, NULL, write_callgrind);
	if (s.needs_profile)
		return tw_profile_recording(s.recording, &options, s.profile);
	return e->simpoint ? tw_replay(s.recording, &s.replay, &tw_simpoint_analyzer, &vectors) : 0;
}

int tw_exports_write(const struct tw_exports *e, const struct tw_exports_source *s)
{
	int error = 0;
	const char *path = NULL;
	if ((e->callgrind || tw_exports_need_profile(e)) && has_no_code(s->recording))
		return tw_fail(TW_ERR_SYSTEM, "this was imported from addresses only; profiles of code need a recording of a program");
	if (e->module || e->fdata || e->autofdo) {
		path = find_module(e, s);
		if (!path)
			return tw_fail(TW_ERR_SYSTEM, "no file %s was mapped",
			               e->module ? e->module : tw_recording_info(s->recording)->program);
	}
	error = replay_for(e, s);
	if (e->lcov && !error)
		error = write_file(s, e->lcov, e->module ? path : NULL, write_lcov);
	if (e->fdata && !error)
		error = write_file(s, e->fdata, path, write_fdata);
	if (e->autofdo && !error)
		error = write_file(s, e->autofdo, path, write_autofdo);
	return error;
}
