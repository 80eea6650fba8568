#include "cc/driver.h"
#include "cc/auxiliary.h"
#include "cc/calls.h"
#include "cc/checks.h"
#include "cc/drive.h"
#include "cc/finish.h"
#include "cc/input.h"
#include "cc/link.h"
#include "cc/rewrite.h"
#include "cc/twice.h"
#include "names/demangle.h"
#include "names/places.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- temporary files ---- */

/* The first that can be written to, as gcc has it. */
static const char *find_temporary(void)
{
	const char *const places[] = {getenv("TMPDIR"), getenv("TMP"), getenv("TEMP"), P_tmpdir, "/var/tmp", "/usr/tmp", "."};
	struct stat s;
	for (size_t k = 0; k < sizeof places / sizeof *places; k++)
		if (places[k] && *places[k] && !stat(places[k], &s) && S_ISDIR(s.st_mode) && !access(places[k], R_OK | W_OK | X_OK))
			return places[k];
	return P_tmpdir;
}

static int make_directory(struct tw_cc_drive *d)
{
	snprintf(d->directory, sizeof d->directory, "%s/trackway-cc-XXXXXX", find_temporary());
	if (mkdtemp(d->directory))
		return 0;
	fprintf(stderr, "trackway cc: %s: %s\n", d->directory, strerror(errno));
	d->directory[0] = 0;
	return TW_CC_OUR_FAILURE;
}

/* ---- the compiler's steps ---- */

/* The object that is made of source k. */
static char *object_of(const struct tw_cc_drive *d, size_t k)
{
	const struct tw_cc_command *c = &d->command;
	if (c->step == TW_CC_STEP_LINK)
		return tw_cc_in_directory(d, k, ".o");
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

static char *with_suffix(const char *path, const char *suffix)
{
	const char *dot = strrchr(path, '.');
	char *named;
	if (asprintf(&named, "%.*s%s", (int)(dot && !strchr(dot, '/') ? dot - path : (long)strlen(path)), path, suffix) < 0)
		abort();
	return named;
}

/* Where dependencies go if the command does not say: beside the object, or beside the program if it has a name. */
static char *depend_file(const struct tw_cc_drive *d, size_t k)
{
	const char *suffix = tw_cc_is_d(d->command.word[k]) ? ".deps" : ".d";
	char *stem = tw_cc_auxiliary_stem(d, k), *path;
	if (d->command.output)
		path = with_suffix(d->command.output, suffix);
	else if (asprintf(&path, "%s%s", stem, suffix) < 0)
		abort();
	free(stem);
	return path;
}

/* What depends on the source if the command does not say. */
static char *depend_target(const struct tw_cc_drive *d, size_t k)
{
	const char *output = tw_cc_is_d(d->command.word[k]) ? NULL : d->command.output; /* gdc goes by the source's name */
	return output ? strdup(output) : with_suffix(tw_base_name(d->command.word[k]), ".o");
}

/* Within a file, functions keep to the ABI. The compiler must produce assembly, not intermediate code for the linker. */
static void push_own_flags(const struct tw_cc_drive *d, struct tw_cc_words *w)
{
	if (d->command.is_gcc) {
		tw_cc_push(w, "-fno-ipa-ra");
		tw_cc_push(w, "-ffixed-r11");
	}
	if (d->command.lto)
		tw_cc_push(w, "-fno-lto");
}

/* `step`: -S, -E or -c, and where that goes. */
static int compile(const struct tw_cc_drive *d, size_t k, const char *step, const char *to)
{
	const struct tw_cc_command *c = &d->command;
	struct tw_cc_words w = {0};
	char *depends = depend_file(d, k), *target = depend_target(d, k);
	tw_cc_push_compiler(d, &w, 1);
	if (c->step == TW_CC_STEP_LINK && !c->is_gcc) /* clang warns of unused linker options */
		tw_cc_push(&w, "-Qunused-arguments");
	for (size_t m = c->compiler; m < c->n; m++)
		if (!tw_cc_is_replaced(d, c->word[m]) &&
		    (c->kind[m] == TW_CC_WORD_FLAG || c->kind[m] == TW_CC_WORD_COMPILE || (c->kind[m] == TW_CC_WORD_LANGUAGE && m < k)))
			tw_cc_push(&w, c->word[m]);
	push_own_flags(d, &w);
	if (c->depends && !c->has_depend_file) {
		tw_cc_push(&w, "-MF");
		tw_cc_push(&w, depends);
	}
	if (c->depends && !c->has_depend_target) {
		tw_cc_push(&w, "-MQ");
		tw_cc_push(&w, target);
	}
	tw_cc_push_auxiliary(d, &w, k);
	tw_cc_push(&w, step);
	tw_cc_push(&w, "-o");
	tw_cc_push(&w, to);
	if (c->kind[k] == TW_CC_WORD_ASSEMBLY_CPP) {
		tw_cc_push(&w, "-x");
		tw_cc_push(&w, "assembler-with-cpp");
	}
	tw_cc_push(&w, c->word[k]);
	for (size_t m = k; tw_cc_is_d(c->word[k]) && m < c->n; m++)
		if (c->kind[m] == TW_CC_WORD_MORE)
			tw_cc_push(&w, c->word[m]);
	tw_cc_input_again(d, k);
	int status = tw_cc_run_and_free(&w);
	free(depends);
	free(target);
	return status;
}

/*
 * Would make the assembler insert something between a label and its instruction: padding that keeps branches off
 * cache-line ends, or fences against speculation.
 */
static int is_padding(const char *option)
{
	static const char *const begin[] = {"-mbranches-within-", "-malign-branch", "-x86-branches-within-",
	                                    "-x86-align-branch",  "-x86-pad-",      "-mlfence-"};
	for (size_t k = 0; k < sizeof begin / sizeof *begin; k++)
		if (!strncmp(option, begin[k], strlen(begin[k])))
			return 1;
	return 0;
}

/* -Wa,A,B without such options. To be freed; NULL: nothing is left. */
static char *without_padding(const char *word)
{
	char *list = strdup(word), *kept = calloc(strlen(word) + 1, 1), *at = NULL;
	if (!list || !kept)
		abort();
	for (char *one = strtok_r(list, ",", &at); one; one = strtok_r(NULL, ",", &at))
		if (!is_padding(one))
			strcat(strcat(kept, *kept ? "," : ""), one);
	free(list);
	if (strcmp(kept, "-Wa"))
		return kept;
	free(kept);
	return NULL;
}

static void push_assembler_flags(const struct tw_cc_drive *d, struct tw_cc_words *w)
{
	const struct tw_cc_command *c = &d->command;
	for (size_t m = c->compiler; m < c->n; m++) {
		const char *word = c->word[m], *value = m + 1 < c->n ? c->word[m + 1] : "";
		const int is_list = !strncmp(word, "-Wa,", 4), has_value = !strcmp(word, "-Xassembler") || !strcmp(word, "-mllvm");
		char *list = is_list ? without_padding(word) : NULL;
		if (has_value && is_padding(value))
			m++;
		else if (c->kind[m] == TW_CC_WORD_FLAG && (is_list ? list != NULL : !is_padding(word)))
			tw_cc_push(w, is_list ? list : word);
	}
}

static int assemble(const struct tw_cc_drive *d, const char *assembly, const char *object, int keep_labels)
{
	const struct tw_cc_command *c = &d->command;
	struct tw_cc_words w = {0};
	tw_cc_push_compiler(d, &w, 0);
	push_assembler_flags(d, &w);
	if (!c->is_gcc) {
		tw_cc_push(&w, "-Qunused-arguments");
		tw_cc_push(&w, "-Wa,--no-warn"); /* clang warns of its own output: "inconsistent use of MD5 checksums" */
	}
	if (keep_labels)
		tw_cc_push(&w, "-Wa,-L");
	tw_cc_push(&w, "-x");
	tw_cc_push(&w, "assembler");
	tw_cc_push(&w, "-c");
	tw_cc_push(&w, "-o");
	tw_cc_push(&w, object);
	tw_cc_push(&w, assembly);
	return tw_cc_run_and_free(&w);
}

/* ---- one source ---- */

static int matches(const char *const *patterns, const char *what)
{
	for (; *patterns; patterns++)
		if (!fnmatch(*patterns, what, 0))
			return 1;
	return 0;
}

/* Matches the name that the linker knows, or the C++ name, with or without parameters. */
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

static void leave_unwanted(const struct tw_cc_drive *d, const char *source, struct tw_cc_code *c)
{
	const char *const *only = d->wishes->only;
	for (uint32_t k = 1; k < c->n_functions; k++)
		if ((only[0] && !is_meant(only, source, c, k)) || is_meant(d->wishes->not_, source, c, k))
			c->function[k].why = "";
}

/* First versions are not instrumented. Second versions may be entered from them where data refer to their code. */
static void leave_first(struct tw_cc_code *c)
{
	for (uint32_t k = 1; k < c->n_functions; k++)
		if (strncmp(c->function[k].name, TW_CC_SECOND, sizeof TW_CC_SECOND - 1))
			c->function[k].why = "";
	for (uint32_t k = 0; k < c->n_insns; k++)
		if (c->insn[k].entry & TW_CC_ENTRY_DATA && !c->function[c->insn[k].function].why)
			c->insn[k].entry |= TW_CC_ENTRY_UNKNOWN;
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

enum pass { ONLY, FIRST, SECOND }; /* for functions in two versions, FIRST makes the second version and SECOND instruments it */

/* -1: there is no memory. */
static int analyse(struct tw_cc_code *c, const struct tw_cc_options *o, struct tw_cc_flow *f)
{
	return tw_cc_flow_make(c, o, f) || tw_cc_order_find(f) || tw_cc_calls_find(f) || tw_cc_checks_place(f) ? -1 : 0;
}

/* If a file has more blocks than there are tags, its last functions are not instrumented. Returns how many. */
static uint32_t leave_last(struct tw_cc_code *c, const struct tw_cc_flow *f)
{
	uint32_t kept = 0, left = 0;
	for (uint32_t n = 0, end; f->n_blocks > TW_CC_MOST_BLOCKS && n < f->n_blocks; n = end) {
		const uint32_t function = c->insn[f->block[n].first].function;
		for (end = n; end < f->n_blocks && c->insn[f->block[end].first].function == function;)
			end++;
		if (kept + (end - n) <= TW_CC_MOST_BLOCKS) {
			kept += end - n;
			continue;
		}
		left += !c->function[function].why;
		c->function[function].why = "";
	}
	return left;
}

static int analyse_most(const char *source, struct tw_cc_code *c, const struct tw_cc_options *o, struct tw_cc_flow *f)
{
	if (analyse(c, o, f))
		return -1;
	const uint32_t left = leave_last(c, f);
	if (!left)
		return 0;
	fprintf(stderr,
	        "trackway cc: %s: %u functions are not instrumented: it has more than 65520 blocks (--only and --not choose others)\n",
	        source, left);
	tw_cc_flow_free(f);
	return analyse(c, o, f);
}

/* What becomes of a source. */
enum { FAILED = -1, AS_IT_IS, INSTRUMENTED, BY_COMPILER };

/* Rewrites the assembly; FAILED, AS_IT_IS or INSTRUMENTED. */
static int rewrite(const struct tw_cc_drive *d, size_t word, enum pass pass, struct tw_cc_code *c, const char *to)
{
	const char *source = d->command.word[word];
	const struct tw_cc_options options = {.pic = d->command.pic,
	                                      .values = d->wishes->values,
	                                      .large = d->wishes->large,
	                                      .guard = d->wishes->guard,
	                                      .by_hand = tw_cc_is_assembly(d->command.kind[word])};
	struct tw_cc_flow flow = {0};
	struct tw_cc_counts counts = {.blocks = pass == FIRST};
	int error = tw_cc_code_match(c);
	if (!error) {
		if (pass == SECOND)
			leave_first(c);
		else
			leave_unwanted(d, source, c);
		error = analyse_most(source, c, &options, &flow) ||
		        (pass == FIRST ? tw_cc_twice(&flow, to) : tw_cc_rewrite(&flow, &options, to, &counts));
	}
	if (error) {
		fprintf(stderr, "trackway cc: %s: %s\n", source, strerror(errno ? errno : ENOMEM));
	} else {
		say_left(source, c);
		if (d->wishes->verbose && pass != FIRST)
			say_counts(source, &counts);
	}
	tw_cc_flow_free(&flow);
	return error ? FAILED : counts.blocks > 0 ? INSTRUMENTED : AS_IT_IS;
}

/* Some assembly is understood only by the compiler that wrote it: then the compiler makes the object. */
static int leave_to_compiler(const struct tw_cc_drive *d, size_t k)
{
	const int is_by_hand = tw_cc_is_assembly(d->command.kind[k]);
	if (!is_by_hand)
		fprintf(stderr, "trackway cc: %s is not instrumented: the compiler's assembly for it cannot be assembled\n",
		        d->command.word[k]);
	return is_by_hand ? AS_IT_IS : BY_COMPILER;
}

static int instrument(const struct tw_cc_drive *d, size_t k, enum pass pass, const char *assembly, const char *to)
{
	const char *source = d->command.word[k];
	struct tw_cc_code c = {.object = {.fd = -1}};
	char *labelled = tw_cc_in_directory(d, k, ".labels.s"), *object = tw_cc_in_directory(d, k, ".labels.o");
	int done = AS_IT_IS;
	if (tw_cc_text_read(assembly, &c.text) || tw_cc_code_label(&c.text, labelled)) {
		fprintf(stderr, "trackway cc: %s: %s\n", source, strerror(errno));
		done = FAILED;
	} else if (c.text.repeated) {
		fprintf(stderr, "trackway cc: %s is not instrumented: line %u of its assembly: %s generates code that is not visible\n",
		        source, c.text.repeated_line, c.text.repeated);
	} else if (assemble(d, labelled, object, 1)) {
		done = leave_to_compiler(d, k);
	} else if (tw_cc_object_read(object, &c.object)) {
		fprintf(stderr, "trackway cc: %s is not instrumented: the compiler does not make x86-64 assembly from it\n", source);
	} else {
		done = rewrite(d, k, pass, &c, to);
	}
	tw_cc_code_free(&c);
	free(labelled);
	free(object);
	return done;
}

/* In two versions. Hand-written assembly has one. */
static int instrument_second(const struct tw_cc_drive *d, size_t k, const char *assembly, const char *to)
{
	char *twice = tw_cc_in_directory(d, k, ".twice.s");
	int done = tw_cc_is_assembly(d->command.kind[k]) ? AS_IT_IS : instrument(d, k, FIRST, assembly, twice);
	if (done == INSTRUMENTED)
		done = instrument(d, k, SECOND, twice, to);
	free(twice);
	return done;
}

/* The inserted code may be too much for inline assembly that states distances between places. */
static int assemble_rewritten(const struct tw_cc_drive *d, size_t k, const char *rewritten, const char *assembly, const char *object)
{
	const int status = assemble(d, rewritten, object, 0);
	if (!status || assemble(d, assembly, object, 0))
		return status;
	fprintf(stderr, "trackway cc: %s is not instrumented: its assembly has no room for instrumentation, says the assembler\n",
	        d->command.word[k]);
	return 0;
}

static int make_object(const struct tw_cc_drive *d, size_t k, const char *object)
{
	const int is_there = d->command.kind[k] == TW_CC_WORD_ASSEMBLY;
	const char *step = d->command.kind[k] == TW_CC_WORD_ASSEMBLY_CPP ? "-E" : "-S";
	char *assembly = is_there ? tw_cc_input_path(d, k) : tw_cc_in_directory(d, k, ".s"),
	     *instrumented = tw_cc_in_directory(d, k, ".tw.s");
	int status = is_there ? 0 : compile(d, k, step, assembly);
	if (!status) {
		int done = d->wishes->switchable ? instrument_second(d, k, assembly, instrumented)
		                                 : instrument(d, k, ONLY, assembly, instrumented);
		status = done == FAILED        ? TW_CC_OUR_FAILURE
		         : done == BY_COMPILER ? compile(d, k, "-c", object)
		         : done == AS_IT_IS    ? assemble(d, assembly, object, 0)
		                               : assemble_rewritten(d, k, instrumented, assembly, object);
		tw_cc_auxiliary_keep(d, k);
	}
	free(assembly);
	free(instrumented);
	return status;
}

/* ---- all of it ---- */

static void remove_files(const struct tw_cc_drive *d)
{
	DIR *dir = opendir(d->directory);
	for (struct dirent *e; dir && (e = readdir(dir));)
		unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(d->directory);
}

static int run_plainly(const struct tw_cc_drive *d)
{
	struct tw_cc_words w = {0};
	for (size_t k = 0; k < d->command.n; k++)
		tw_cc_push(&w, d->command.word[k]);
	for (size_t k = 0; d->command.needs_lto && k < d->command.n; k++)
		if (tw_cc_is_compiled(d->command.kind[k]))
			fprintf(stderr, "trackway cc: %s is not instrumented: %s needs -flto, with which the compiler makes no assembly\n",
			        d->command.word[k], d->command.needs_lto);
	if (d->command.step == TW_CC_STEP_HEADER)
		push_own_flags(d, &w);
	return tw_cc_run_and_free(&w);
}

/* As compilers do: a failed compilation leaves no object. Devices stay. */
static void remove_object(const char *object)
{
	struct stat s;
	if (!lstat(object, &s) && S_ISREG(s.st_mode))
		unlink(object);
}

static int make_all(const struct tw_cc_drive *d)
{
	const struct tw_cc_command *c = &d->command;
	int status = 0;
	if (tw_cc_input_keep(d))
		return TW_CC_OUR_FAILURE;
	for (size_t k = c->compiler; k < c->n; k++) {
		if (!tw_cc_is_compiled(c->kind[k]))
			continue;
		char *object = object_of(d, k);
		int failed = make_object(d, k, object);
		if (failed)
			remove_object(object);
		status = status ? status : failed;
		free(object);
	}
	return !status && c->step == TW_CC_STEP_LINK ? tw_cc_link(d) : status;
}

int tw_cc_drive(const struct tw_cc_wishes *wishes, int argc, char **argv)
{
	struct tw_cc_drive d = {.wishes = wishes};
	if (tw_cc_command_parse(argc, argv, wishes->assembly, &d.command)) {
		fprintf(stderr, "trackway cc: %s\n", strerror(errno));
		return TW_CC_OUR_FAILURE;
	}
	const int is_plain = d.command.step == TW_CC_STEP_PLAIN || d.command.step == TW_CC_STEP_HEADER;
	if (d.command.lto && d.command.n_sources && !is_plain && wishes->verbose)
		fprintf(stderr, "trackway cc: instrumented files are compiled without -flto\n");
	tw_cc_catch_signals();
	int status = is_plain ? run_plainly(&d) : make_directory(&d);
	if (d.directory[0]) {
		status = make_all(&d);
		if (getenv("TRACKWAY_CC_KEEP"))
			fprintf(stderr, "trackway cc: kept %s\n", d.directory);
		else
			remove_files(&d);
	}
	tw_cc_command_free(&d.command);
	tw_cc_end_by_signal();
	return status;
}
