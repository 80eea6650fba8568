#include "cli/learned.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "learn/file.h"
#include "learn/gather.h"
#include "recording/recording.h"

#include <stdio.h>
#include <string.h>

unsigned tw_learned_what(const char *name)
{
	static const struct {
		const char *name;
		unsigned what;
	} names[] = {{"blocks", TW_LEARN_BLOCKS}, {"branches", TW_LEARN_BRANCHES}, {"calls", TW_LEARN_CALLS},
	             {"all", TW_LEARN_ALL},       {"cct", TW_LEARN_CCT},           {"refs", TW_LEARN_REFS}};
	for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
		if (!strcmp(names[k].name, name))
			return names[k].what;
	return 0;
}

void tw_learned_error(const char *command, const char *file, int error)
{
	char why[TW_LEARN_KEPT];
	fprintf(stderr, "trackway %s: %s\n", command, tw_learn_sentence(file, error, why, sizeof why));
}

int tw_learned_check(const char *file, const char *program)
{
	struct tw_facts f = {0};
	const int error = tw_learn_writable(file);
	int status = error != 0;
	if (error)
		tw_learned_error("record", file, error);
	else if (!tw_learn_read(file, &f) && f.n_modules && strcmp(tw_facts_path(&f, 0), program)) {
		fprintf(stderr, "trackway record: the learn file '%s' is of another program, %s\n", file, tw_facts_path(&f, 0));
		status = 1;
	}
	tw_facts_free(&f);
	return status;
}

uint64_t tw_learned_count(const char *file)
{
	struct tw_facts f = {0};
	const uint64_t n = tw_learn_read(file, &f) ? 0 : f.n;
	tw_facts_free(&f);
	return n;
}

static int gather(const char *dir, unsigned what, struct tw_facts *f)
{
	struct tw_recording *r;
	struct tw_damage damage = {.command = "record"};
	int error = tw_recording_open(dir, &r);
	if (error)
		return error;
	damage.recording = r;
	const struct tw_replay_options options = {.jobs = (unsigned)tw_default_jobs(), .damage = tw_damage_report, .context = &damage};
	error = tw_learn_gather(r, &options, what, f);
	tw_recording_close(r);
	return error;
}

static void say(const char *file, const struct tw_learn_saved *s)
{
	const char *before = "";
	fprintf(stderr, "trackway: learned");
	for (unsigned k = 0; k < TW_FACT_KINDS; k++) {
		if (!s->all[k])
			continue;
		fprintf(stderr, "%s %llu %s (%llu new)", before, (unsigned long long)s->all[k], tw_fact_names[k],
		        (unsigned long long)s->added[k]);
		before = ",";
	}
	fprintf(stderr, " in %s\n", file);
}

int tw_learned_take(const char *dir, const char *file, unsigned what, int quiet, struct tw_learn_saved *saved)
{
	struct tw_facts f = {0};
	int error = gather(dir, what, &f);
	if (error) {
		tw_facts_free(&f);
		return tw_recording_error("record", file, error), error;
	}
	error = tw_learn_save(file, &f, saved);
	tw_facts_free(&f);
	if (error)
		tw_learned_error("record", file, error);
	else if (saved->kept[0])
		fprintf(stderr, "trackway: %s; it is kept as %s, and learning starts afresh\n", saved->why, saved->kept);
	if (!error && !quiet)
		say(file, saved);
	return error;
}
