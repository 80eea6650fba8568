#include "cc/driver.h"
#include "cc/command.h"
#include "cc/finish.h"
#include "cc/rewrite.h"
#include "names/demangle.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define BATCH_OBJECT ".batch.o"

enum { OUR_FAILURE = 1, NOT_FOUND = 127 };

struct drive {
	const struct tw_cc_wishes *wishes;
	struct tw_cc_command command;
	char directory[PATH_MAX]; /* of temporary files */
};

/* ---- running ---- */

/* A command being put together. */
struct words {
	char **at;
	size_t n;
};

static void push(struct words *w, const char *word)
{
	char **more = realloc(w->at, (w->n + 2) * sizeof *more);
	if (!more)
		abort();
	w->at = more;
	w->at[w->n++] = (char *)word;
	w->at[w->n] = NULL;
}

static int run(struct words *w)
{
	pid_t pid;
	int status = 0, why = posix_spawnp(&pid, w->at[0], NULL, NULL, w->at, environ);
	if (why) {
		fprintf(stderr, "trackway cc: %s cannot be run: %s\n", w->at[0], strerror(why));
		return NOT_FOUND;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_and_free(struct words *w)
{
	int status = run(w);
	free(w->at);
	return status;
}

/* ---- temporary files ---- */

static int make_directory(struct drive *d)
{
	const char *in = getenv("TMPDIR");
	snprintf(d->directory, sizeof d->directory, "%s/trackway-cc-XXXXXX", in && *in ? in : "/tmp");
	if (mkdtemp(d->directory))
		return 0;
	fprintf(stderr, "trackway cc: %s: %s\n", d->directory, strerror(errno));
	d->directory[0] = 0;
	return OUR_FAILURE;
}

static char *in_directory(const struct drive *d, size_t number, const char *suffix)
{
	char *path;
	if (asprintf(&path, "%s/%zu%s", d->directory, number, suffix) < 0)
		abort();
	return path;
}

/* ---- the compiler's steps ---- */

static void push_compiler(const struct drive *d, struct words *w, int with_cache)
{
	for (size_t k = with_cache ? 0 : d->command.compiler - 1; k < d->command.compiler; k++)
		push(w, d->command.word[k]);
}

/* The object that is made of source k. */
static char *object_of(const struct drive *d, size_t k)
{
	const struct tw_cc_command *c = &d->command;
	if (c->step == TW_CC_STEP_LINK)
		return in_directory(d, k, ".o");
	if (c->output)
		return strdup(c->output);
	const char *name = strrchr(c->word[k], '/');
	char *path = NULL;
	name = name ? name + 1 : c->word[k];
	const char *dot = strrchr(name, '.');
	if (asprintf(&path, "%.*s.o", (int)(dot ? dot - name : (long)strlen(name)), name) < 0)
		abort();
	return path;
}

/* Where dependencies go if the command does not say: beside the object. */
static char *depend_file(const struct drive *d, size_t k, const char *object)
{
	const struct tw_cc_command *c = &d->command;
	const char *base = c->step == TW_CC_STEP_LINK ? c->word[k] : object, *dot = strrchr(base, '.');
	char *path;
	if (asprintf(&path, "%.*s.d", (int)(dot && !strchr(dot, '/') ? dot - base : (long)strlen(base)), base) < 0)
		abort();
	return path;
}

/* Functions of one file keep to the ABI among each other; what is compiled is assembly, not something for the linker to compile. */
static void push_own_flags(const struct drive *d, struct words *w)
{
	if (d->command.is_gcc) {
		push(w, "-fno-ipa-ra");
		push(w, "-ffixed-r11");
	}
	if (d->command.lto)
		push(w, "-fno-lto");
}

static int compile(const struct drive *d, size_t k, const char *object, const char *assembly)
{
	const struct tw_cc_command *c = &d->command;
	struct words w = {0};
	char *depends = depend_file(d, k, object);
	push_compiler(d, &w, 1);
	for (size_t m = c->compiler; m < c->n; m++)
		if (c->kind[m] == TW_CC_WORD_FLAG || c->kind[m] == TW_CC_WORD_COMPILE || (c->kind[m] == TW_CC_WORD_LANGUAGE && m < k))
			push(&w, c->word[m]);
	push_own_flags(d, &w);
	if (c->depends && !c->has_depend_file) {
		push(&w, "-MF");
		push(&w, depends);
	}
	if (c->depends && !c->has_depend_target) {
		push(&w, "-MT");
		push(&w, object);
	}
	push(&w, c->kind[k] == TW_CC_WORD_ASSEMBLY_CPP ? "-E" : "-S");
	push(&w, "-o");
	push(&w, assembly);
	if (c->kind[k] == TW_CC_WORD_ASSEMBLY_CPP) {
		push(&w, "-x");
		push(&w, "assembler-with-cpp");
	}
	push(&w, c->word[k]);
	int status = run_and_free(&w);
	free(depends);
	return status;
}

static int assemble(const struct drive *d, const char *assembly, const char *object, int keep_labels)
{
	const struct tw_cc_command *c = &d->command;
	struct words w = {0};
	push_compiler(d, &w, 0);
	for (size_t m = c->compiler; m < c->n; m++)
		if (c->kind[m] == TW_CC_WORD_FLAG)
			push(&w, c->word[m]);
	if (!c->is_gcc)
		push(&w, "-Qunused-arguments");
	if (keep_labels)
		push(&w, "-Wa,-L");
	push(&w, "-x");
	push(&w, "assembler");
	push(&w, "-c");
	push(&w, "-o");
	push(&w, object);
	push(&w, assembly);
	return run_and_free(&w);
}

/* ---- one source ---- */

static int matches(const char *const *patterns, const char *what)
{
	for (; *patterns; patterns++)
		if (!fnmatch(*patterns, what, 0))
			return 1;
	return 0;
}

/* By its name for the linker, or as C++ has it, with its parameters or without. */
static int matches_function(const char *const *patterns, const char *name)
{
	char *plain = tw_demangle(name);
	int found = matches(patterns, name) || (plain && matches(patterns, plain));
	if (plain && !found) {
		plain[strcspn(plain, "(")] = 0;
		found = matches(patterns, plain);
	}
	free(plain);
	return found;
}

/* Does a pattern match the file, or one of the function's names? */
static int is_meant(const char *const *patterns, const char *file, const struct tw_cc_code *c, uint32_t function)
{
	for (uint32_t k = 1; *patterns && k < c->n_functions; k++)
		if ((k == function || c->function[k].same_as == function) && matches_function(patterns, c->function[k].name))
			return 1;
	return matches(patterns, file) || (strchr(file, '/') && matches(patterns, strrchr(file, '/') + 1));
}

static void leave_unwanted(const struct drive *d, const char *source, struct tw_cc_code *c)
{
	const char *const *only = d->wishes->only;
	for (uint32_t k = 1; k < c->n_functions; k++)
		if ((only[0] && !is_meant(only, source, c, k)) || is_meant(d->wishes->not_, source, c, k))
			c->function[k].why = "";
}

/* Functions that were not meant to be left alone. */
static void say_left(const char *source, const struct tw_cc_code *c)
{
	for (uint32_t k = 1; k < c->n_functions; k++) {
		const struct tw_cc_function *f = &c->function[k];
		if (f->why && *f->why)
			fprintf(stderr, "trackway cc: %s: %s is not instrumented: line %u of its assembly: %s\n", source, f->name,
			        f->why_line, f->why);
	}
}

static void say_counts(const char *source, const struct tw_cc_counts *n)
{
	fprintf(stderr,
	        "trackway cc: %s: %u functions (%u left alone), %u blocks (%u borrow a register), %u instructions, %u inserted, %u of them "
	        "values\n",
	        source, n->functions + n->left, n->left, n->blocks, n->borrowed, n->insns, n->inserted, n->stores);
}

/* Rewrites the assembly: 1: done; 0: it is to be used as it is; -1: failed. */
static int rewrite(const struct drive *d, size_t word, struct tw_cc_code *c, const char *to)
{
	const char *source = d->command.word[word];
	const struct tw_cc_options options = {.pic = d->command.pic,
	                                      .values = d->wishes->values,
	                                      .large = d->wishes->large,
	                                      .by_hand = tw_cc_is_assembly(d->command.kind[word])};
	struct tw_cc_flow flow = {0};
	struct tw_cc_counts counts = {0};
	int error = tw_cc_code_match(c);
	if (!error) {
		leave_unwanted(d, source, c);
		error = tw_cc_flow_make(c, &options, &flow) || tw_cc_rewrite(&flow, &options, to, &counts);
	}
	if (error) {
		fprintf(stderr, "trackway cc: %s: %s\n", source, strerror(errno ? errno : ENOMEM));
	} else {
		say_left(source, c);
		if (d->wishes->verbose)
			say_counts(source, &counts);
	}
	tw_cc_flow_free(&flow);
	return error ? -1 : counts.blocks > 0;
}

static int instrument(const struct drive *d, size_t k, const char *assembly, const char *to)
{
	const char *source = d->command.word[k];
	struct tw_cc_code c = {.object = {.fd = -1}};
	char *labelled = in_directory(d, k, ".labels.s"), *object = in_directory(d, k, ".labels.o");
	int done = 0;
	if (tw_cc_text_read(assembly, &c.text) || tw_cc_code_label(&c.text, labelled)) {
		fprintf(stderr, "trackway cc: %s: %s\n", source, strerror(errno));
		done = -1;
	} else if (c.text.repeated) {
		fprintf(stderr, "trackway cc: %s is not instrumented: line %u of its assembly: %s makes code out of sight\n", source,
		        c.text.repeated_line, c.text.repeated);
	} else if (assemble(d, labelled, object, 1) || tw_cc_object_read(object, &c.object)) {
		fprintf(stderr, "trackway cc: %s is not instrumented: what the compiler makes of it is no assembly for x86-64\n", source);
	} else {
		done = rewrite(d, k, &c, to);
	}
	tw_cc_code_free(&c);
	free(labelled);
	free(object);
	return done;
}

static int make_object(const struct drive *d, size_t k, const char *object)
{
	const int is_there = d->command.kind[k] == TW_CC_WORD_ASSEMBLY;
	char *assembly = is_there ? strdup(d->command.word[k]) : in_directory(d, k, ".s"), *instrumented = in_directory(d, k, ".tw.s");
	int status = is_there ? 0 : compile(d, k, object, assembly);
	if (!status) {
		int done = instrument(d, k, assembly, instrumented);
		status = done < 0 ? OUR_FAILURE : assemble(d, done ? instrumented : assembly, object, 0);
	}
	free(assembly);
	free(instrumented);
	return status;
}

/* ---- links ---- */

/* A file that came with trackway, in one of these directories from its own on. NULL, and it is said: it is in none. */
static char *find_own(const char *const *directories, const char *name)
{
	char self[PATH_MAX], *path;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	self[n < 0 ? 0 : n] = 0;
	char *slash = strrchr(self, '/');
	for (; slash && *directories; directories++) {
		slash[1] = 0;
		if (asprintf(&path, "%s%s%s", self, *directories, name) < 0)
			abort();
		if (!access(path, R_OK))
			return path;
		free(path);
	}
	return NULL;
}

/* A part that programs carry. */
static char *find_part(const char *name)
{
	static const char *const places[] = {"", "../lib/trackway/", NULL};
	char *path = find_own(places, name);
	if (!path && access("/proc/self/exe", F_OK))
		fprintf(stderr, "trackway cc: instrumenting needs /proc, which is not mounted here (mount -t proc proc /proc)\n");
	else if (!path)
		fprintf(stderr, "trackway cc: its run-time part, %s, is neither beside trackway nor in ../lib/trackway from there\n", name);
	return path;
}

/* Makes the object of the batch routine, which is C, and is not instrumented. */
static int compile_batch(const struct drive *d, const char *object)
{
	static const char *const places[] = {"../", NULL};
	struct words w = {0};
	char *include = find_own(places, "include");
	push_compiler(d, &w, 0);
	push(&w, "-O2");
	push(&w, "-g");
	push(&w, "-fPIC");
	if (include) {
		push(&w, "-I");
		push(&w, include);
	}
	push(&w, "-x");
	push(&w, "c");
	push(&w, "-c");
	push(&w, "-o");
	push(&w, object);
	push(&w, d->wishes->batch);
	int status = run_and_free(&w);
	free(include);
	return status;
}

/* Adds the batch routine, if there is one, and what calls it, to the link. */
static int push_batch(const struct drive *d, struct words *w)
{
	const char *routine = d->wishes->batch;
	if (!routine || d->command.relocatable)
		return 0;
	char *part = find_part("trackway-cc-batch.o");
	if (!part)
		return OUR_FAILURE;
	push(w, part);
	if (strlen(routine) > 2 && !strcmp(routine + strlen(routine) - 2, ".o")) {
		push(w, routine);
		return 0;
	}
	char *object = in_directory(d, 0, BATCH_OBJECT);
	push(w, object);
	return compile_batch(d, object);
}

static int finish(const char *output)
{
	const char *why = tw_cc_finish(output);
	if (!why)
		return 0;
	fprintf(stderr, "trackway cc: %s cannot be recorded: %s\n", output, why);
	return OUR_FAILURE;
}

/* Then what the run-time part asks for weakly comes from archives, which give nothing to those who ask so. */
static int is_static(const struct tw_cc_command *c)
{
	for (size_t k = c->compiler; k < c->n; k++)
		if (!strcmp(c->word[k], "-static") || !strcmp(c->word[k], "-static-pie"))
			return !c->relocatable;
	return 0;
}

static int link_all(const struct drive *d)
{
	const struct tw_cc_command *c = &d->command;
	char *runtime = find_part("trackway-cc.o");
	struct words w = {0};
	if (!runtime)
		return OUR_FAILURE;
	push_compiler(d, &w, 0);
	for (size_t k = c->compiler; k < c->n; k++) {
		if (tw_cc_is_compiled(c->kind[k]))
			push(&w, in_directory(d, k, ".o"));
		else if (c->kind[k] != TW_CC_WORD_LANGUAGE && c->kind[k] != TW_CC_WORD_COMPILE)
			push(&w, c->word[k]);
	}
	if (!c->relocatable)
		push(&w, runtime);
	if (is_static(c))
		push(&w, "-Wl,-u,__cxa_thread_atexit_impl,-u,__register_atfork,-u,on_exit");
	int status = push_batch(d, &w);
	if (!status)
		status = run(&w);
	free(w.at);
	free(runtime);
	return status || c->relocatable ? status : finish(c->output ? c->output : "a.out");
}

/* ---- all of it ---- */

static void remove_files(const struct drive *d)
{
	static const char *const suffixes[] = {".s", ".tw.s", ".labels.s", ".labels.o", ".o"};
	char *batch = in_directory(d, 0, BATCH_OBJECT);
	unlink(batch);
	free(batch);
	for (size_t k = 0; k < d->command.n; k++)
		for (size_t m = 0; tw_cc_is_compiled(d->command.kind[k]) && m < sizeof suffixes / sizeof *suffixes; m++) {
			char *path = in_directory(d, k, suffixes[m]);
			unlink(path);
			free(path);
		}
	rmdir(d->directory);
}

static int run_plainly(const struct drive *d)
{
	struct words w = {0};
	for (size_t k = 0; k < d->command.n; k++)
		push(&w, d->command.word[k]);
	return run_and_free(&w);
}

static int make_all(const struct drive *d)
{
	const struct tw_cc_command *c = &d->command;
	int status = 0;
	for (size_t k = c->compiler; k < c->n && !status; k++) {
		if (!tw_cc_is_compiled(c->kind[k]))
			continue;
		char *object = object_of(d, k);
		status = make_object(d, k, object);
		free(object);
	}
	return !status && c->step == TW_CC_STEP_LINK ? link_all(d) : status;
}

int tw_cc_drive(const struct tw_cc_wishes *wishes, int argc, char **argv)
{
	struct drive d = {.wishes = wishes};
	if (tw_cc_command_parse(argc, argv, wishes->assembly, &d.command)) {
		fprintf(stderr, "trackway cc: %s\n", strerror(errno));
		return OUR_FAILURE;
	}
	if (d.command.lto && d.command.n_sources && d.command.step != TW_CC_STEP_PLAIN && wishes->verbose)
		fprintf(stderr, "trackway cc: what is instrumented here is compiled without -flto\n");
	int status = d.command.step == TW_CC_STEP_PLAIN ? run_plainly(&d) : make_directory(&d);
	if (d.directory[0]) {
		status = make_all(&d);
		if (getenv("TRACKWAY_CC_KEEP"))
			fprintf(stderr, "trackway cc: kept %s\n", d.directory);
		else
			remove_files(&d);
	}
	tw_cc_command_free(&d.command);
	return status;
}
