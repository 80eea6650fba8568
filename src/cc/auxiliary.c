#include "cc/auxiliary.h"
#include "names/places.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- names ---- */

/* Up to its suffix. */
static int stem_length(const char *base)
{
	const char *dot = strrchr(base, '.');
	return (int)(dot ? dot - base : (long)strlen(base));
}

static int is_same_stem(const char *a, const char *b)
{
	const int n = stem_length(a);
	return n == stem_length(b) && !strncmp(a, b, (size_t)n);
}

static char *join(const char *directory, int n_directory, const char *prefix, const char *base)
{
	char *path;
	if (asprintf(&path, "%.*s%s%.*s", n_directory, directory, prefix, stem_length(base), base) < 0)
		abort();
	return path;
}

/* gcc's, of a program's sources: PROGRAM-SOURCE, beside the program. */
static char *stem_in_link(const struct tw_cc_command *c, const char *source)
{
	if (!c->output)
		return join("", 0, "a-", source);
	const char *program = tw_base_name(c->output);
	const int n = (int)(program - c->output);
	if (c->n_inputs == 1 && is_same_stem(program, source))
		return join(c->output, n, "", source);
	char *prefix, *path;
	if (asprintf(&prefix, "%s-", program) < 0)
		abort();
	path = join(c->output, n, prefix, source);
	free(prefix);
	return path;
}

static char *stem_beside(const struct tw_cc_command *c, const char *source)
{
	const char *object = c->output;
	if (c->step == TW_CC_STEP_LINK)
		return c->is_gcc ? stem_in_link(c, source) : join("", 0, "", source);
	return object ? join(object, (int)(tw_base_name(object) - object), "", tw_base_name(object)) : join("", 0, "", source);
}

char *tw_cc_auxiliary_stem(const struct tw_cc_drive *d, size_t k)
{
	const struct tw_cc_command *c = &d->command;
	char *beside = stem_beside(c, tw_base_name(c->word[k]));
	if (!c->is_gcc || !c->saves_here)
		return beside;
	char *here = strdup(tw_base_name(beside));
	free(beside);
	return here;
}

/* clang's, in the directory of `beside`, named after the source. */
static char *stem_of_source(const struct tw_cc_command *c, size_t k, const char *beside)
{
	const char *path = beside ? beside : "";
	return join(path, (int)(tw_base_name(path) - path), "", tw_base_name(c->word[k]));
}

/* Of what -save-temps keeps. */
static char *saved_stem(const struct tw_cc_drive *d, size_t k)
{
	const struct tw_cc_command *c = &d->command;
	if (c->is_gcc)
		return tw_cc_auxiliary_stem(d, k);
	return stem_of_source(c, k, c->saves_beside ? c->output : NULL);
}

/* ---- options ---- */

/* With this option, clang would create a file in the current directory, named after the source: empty, but it may overwrite another. */
static const char split[] = "-gsplit-dwarf";

/* -Xclang: passes the option to the compiler proper, after the driver's own options. */
static void push_proper(struct tw_cc_words *w, const char *option)
{
	tw_cc_push(w, "-Xclang");
	tw_cc_push(w, option);
}

/* clang's compiler has an option for each file. If `value` is not "=", the value is a word of its own. */
static void push_clang(const struct tw_cc_drive *d, struct tw_cc_words *w, const char *stem)
{
	const struct {
		const char *asked, *option, *suffix;
		int joined;
	} files[] = {{"--coverage", "-coverage-notes-file=", ".gcno", 1},
	             {"--coverage", "-coverage-data-file=", ".gcda", 1},
	             {"-fprofile-arcs", "-coverage-data-file=", ".gcda", 1},
	             {"-ftest-coverage", "-coverage-notes-file=", ".gcno", 1},
	             {split, "-split-dwarf-file", ".dwo", 0},
	             {"-fstack-usage", "-stack-usage-file", ".su", 0},
	             {"-fsave-optimization-record", "-opt-record-file", ".opt.yaml", 0}};
	if (tw_cc_command_has(&d->command, split))
		tw_cc_push(w, "-ggnu-pubnames");
	char here[PATH_MAX] = "";
	const int is_absolute = *stem == '/' || !getcwd(here, sizeof here);
	for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
		char *name;
		if (!tw_cc_command_has(&d->command, files[k].asked))
			continue;
		if (asprintf(&name, "%s%s%s%s%s", files[k].joined ? files[k].option : "", files[k].joined && !is_absolute ? here : "",
		             files[k].joined && !is_absolute ? "/" : "", stem, files[k].suffix) < 0)
			abort();
		if (!files[k].joined)
			push_proper(w, files[k].option);
		push_proper(w, name);
	}
}

/* Names of dumps contain the source's suffix; other files' names do not. Options given in the command keep precedence. */
static void push_gcc(const struct tw_cc_drive *d, struct tw_cc_words *w, size_t k, const char *stem)
{
	const char *source = tw_base_name(d->command.word[k]), *suffix = source + stem_length(source), *base = tw_base_name(stem);
	char *directory = strndup(stem, (size_t)(base - stem)), *name;
	if (!directory || asprintf(&name, "%s%s", base, suffix) < 0)
		abort();
	if (!d->command.has_dump_directory) {
		tw_cc_push(w, "-dumpdir");
		tw_cc_push(w, directory);
	}
	if (!d->command.has_dump_base) {
		tw_cc_push(w, "-dumpbase");
		tw_cc_push(w, name);
		tw_cc_push(w, "-dumpbase-ext");
		tw_cc_push(w, suffix);
	}
}

int tw_cc_is_replaced(const struct tw_cc_drive *d, const char *word)
{
	return !d->command.is_gcc && !strcmp(word, split);
}

void tw_cc_push_auxiliary(const struct tw_cc_drive *d, struct tw_cc_words *w, size_t k)
{
	if (!d->command.auxiliary)
		return;
	char *stem = tw_cc_auxiliary_stem(d, k);
	if (d->command.is_gcc)
		push_gcc(d, w, k, stem);
	else
		push_clang(d, w, stem);
	free(stem);
}

/* ---- files ---- */

/* What is not there is passed over. */
static void copy_file(const char *from, const char *suffix, const char *stem)
{
	char *to;
	struct stat s;
	if (asprintf(&to, "%s%s", stem, suffix) < 0)
		abort();
	int in = open(from, O_RDONLY | O_CLOEXEC), out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out >= 0 && !fstat(in, &s))
		for (ssize_t n = 1; n > 0 && lseek(in, 0, SEEK_CUR) < s.st_size;)
			n = sendfile(out, in, NULL, (size_t)s.st_size);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	free(to);
}

static void copy(const struct tw_cc_drive *d, size_t k, const char *suffix, const char *stem)
{
	char *from = tw_cc_in_directory(d, k, suffix);
	copy_file(from, suffix, stem);
	free(from);
}

/* What clang has named after the source. */
static void copy_of_source(const struct tw_cc_drive *d, size_t k, const char *suffix, const char *stem)
{
	const char *source = tw_base_name(d->command.word[k]);
	char *from;
	if (asprintf(&from, "%s/%.*s%s", d->directory, stem_length(source), source, suffix) < 0)
		abort();
	copy_file(from, suffix, stem);
	free(from);
}

/* Of what it makes before assembly: with -save-temps=obj they stand beside that. */
static void copy_earlier(const struct tw_cc_drive *d, size_t k, const char *stem)
{
	static const char *const suffixes[] = {".i", ".ii", ".bc"};
	for (size_t n = 0; n < sizeof suffixes / sizeof *suffixes; n++)
		copy_of_source(d, k, suffixes[n], stem);
}

/* The word behind an option, or NULL. */
static const char *value_of(const struct tw_cc_command *c, const char *option)
{
	for (size_t k = c->compiler; k + 1 < c->n; k++)
		if (!strcmp(c->word[k], option))
			return c->word[k + 1];
	return NULL;
}

/* Corrects clang's entry for a list of commands, which describes this run: the command makes the object, with -c. */
static void correct_entry(const struct tw_cc_drive *d, size_t k, const char *path)
{
	static const char step[] = "\"-S\"";
	char *assembly = tw_cc_in_directory(d, k, ".s"), *stem = tw_cc_auxiliary_stem(d, k), *line = NULL, *text = NULL;
	size_t room = 0, n = 0;
	FILE *in = fopen(path, "re"), *out = open_memstream(&text, &n);
	while (in && out && getline(&line, &room, in) > 0)
		for (const char *p = line; *p;) {
			const int is_file = !strncmp(p, assembly, strlen(assembly)), is_step = !strncmp(p, step, sizeof step - 1);
			if (is_file && d->command.output)
				fputs(d->command.output, out);
			else if (is_file)
				fprintf(out, "%s.o", stem);
			else if (is_step)
				fputs("\"-c\"", out);
			else
				fputc(*p, out);
			p += is_file ? strlen(assembly) : is_step ? sizeof step - 1 : 1;
		}
	if (in)
		fclose(in);
	const int is_whole = out && !fclose(out) && in;
	FILE *again = is_whole ? fopen(path, "we") : NULL;
	if (again) {
		fwrite(text, 1, n, again);
		fclose(again);
	}
	free(assembly);
	free(stem);
	free(line);
	free(text);
}

static void keep_beside(const struct tw_cc_drive *d, size_t k, const char *suffix)
{
	char *stem = tw_cc_auxiliary_stem(d, k);
	copy(d, k, suffix, stem);
	free(stem);
}

void tw_cc_auxiliary_keep(const struct tw_cc_drive *d, size_t k)
{
	const struct tw_cc_command *c = &d->command;
	const char *entry = value_of(c, "-MJ");
	if (entry && c->step != TW_CC_STEP_LINK)
		correct_entry(d, k, entry);
	if (tw_cc_command_has(c, "-ftime-trace") && c->step != TW_CC_STEP_LINK)
		keep_beside(d, k, ".json");
	if ((tw_cc_command_has(c, "-save-stats=obj") || tw_cc_command_has(c, "--save-stats=obj")) && c->step != TW_CC_STEP_LINK) {
		char *stem = stem_of_source(c, k, c->output);
		copy_of_source(d, k, ".stats", stem);
		free(stem);
	}
	if (c->step == TW_CC_STEP_LINK && tw_cc_command_has(c, split))
		keep_beside(d, k, ".dwo");
	if (c->saves) {
		char *stem = saved_stem(d, k);
		copy(d, k, ".s", stem);
		if (!c->is_gcc && c->saves_beside)
			copy_earlier(d, k, stem);
		if (c->step == TW_CC_STEP_LINK)
			copy(d, k, ".o", stem);
		free(stem);
	}
}
