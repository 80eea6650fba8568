/* Links: what is linked gets the run-time part, and is finished. */
#include "cc/link.h"
#include "cc/finish.h"
#include "base/text.h"
#include "names/places.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds a file that came with trackway, in one of these directories, relative to its own. NULL: in none, which is reported. */
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
		fprintf(stderr,
		        "trackway cc: its run-time part, %s, was found neither next to trackway nor in ../lib/trackway relative to it\n",
		        name);
	return path;
}

/*
 * An archive: its objects are linked only if something refers to them. Functions in two versions do, and system calls
 * that create processes.
 */
static int push_archive(struct tw_cc_words *w)
{
	char *part = find_part("trackway-cc-parts.a");
	if (part)
		tw_cc_push(w, part);
	return !part;
}

/* Compiles the batch routine, which is C, without instrumentation. */
static int compile_batch(const struct tw_cc_drive *d, const char *object)
{
	static const char *const places[] = {"../", NULL};
	struct tw_cc_words w = {0};
	char *include = find_own(places, "include");
	tw_cc_push_compiler(d, &w, 0);
	tw_cc_push(&w, "-O2");
	tw_cc_push(&w, "-g");
	tw_cc_push(&w, "-fPIC");
	if (include) {
		tw_cc_push(&w, "-I");
		tw_cc_push(&w, include);
	}
	tw_cc_push(&w, "-x");
	tw_cc_push(&w, "c");
	tw_cc_push(&w, "-c");
	tw_cc_push(&w, "-o");
	tw_cc_push(&w, object);
	tw_cc_push(&w, d->wishes->batch);
	int status = tw_cc_run_and_free(&w);
	free(include);
	return status;
}

/* Adds the batch routine, if there is one, and its caller to the link. */
static int push_batch(const struct tw_cc_drive *d, struct tw_cc_words *w)
{
	const char *routine = d->wishes->batch;
	if (!routine)
		return 0;
	char *part = find_part("trackway-cc-batch.o");
	if (!part)
		return TW_CC_OUR_FAILURE;
	tw_cc_push(w, part);
	if (tw_has_suffix(routine, ".o")) {
		tw_cc_push(w, routine);
		return 0;
	}
	char *object = tw_cc_in_directory(d, 0, TW_CC_BATCH_OBJECT);
	tw_cc_push(w, object);
	return compile_batch(d, object);
}

static int push_guard(const struct tw_cc_drive *d, struct tw_cc_words *w)
{
	char *part = d->wishes->guard ? find_part("trackway-cc-guard.o") : NULL;
	if (part)
		tw_cc_push(w, part);
	return d->wishes->guard && !part;
}

/* A program that cannot be recorded is deleted: it would not run when someone records it all the same. */
static int finish(const char *output)
{
	struct stat st;
	const char *why = tw_cc_finish(output);
	if (!why)
		return 0;
	fprintf(stderr, "trackway cc: %s cannot be recorded: %s\n", output, why);
	if (!lstat(output, &st) && S_ISREG(st.st_mode))
		unlink(output);
	return TW_CC_OUR_FAILURE;
}

/*
 * Instrumented code finds the buffer pointer in static thread-local storage, so all of its library's thread-local
 * memory must be there. There is little room for libraries that are loaded later.
 */
static void say_thread_memory(const struct tw_cc_command *c, const char *output)
{
	enum { ROOM = 1600 };
	const uint64_t bytes = tw_cc_command_has(c, "-shared") ? tw_cc_thread_memory(output) : 0;
	if (bytes > ROOM)
		fprintf(stderr,
		        "trackway cc: %s has %lu bytes of thread-local memory: dlopen() finds room for it only with "
		        "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=%lu in the environment\n",
		        output, bytes, bytes + ROOM);
}

/*
 * For static linking: the run-time part has weak references, which do not pull objects out of archives. In glibc
 * these symbols are other names in the same objects, so another library may lack them without an error.
 */
#define FROM_GLIBC "-Wl,-u,__call_tls_dtors,-u,__unregister_atfork,-u,__on_exit,-u,__srand48_r,-u,_Fork"
#define FROM_MUSL  "-Wl,-u,pthread_atfork,-u,pthread_key_create,-u,pthread_setspecific,-u,_Fork"

static int is_static(const struct tw_cc_command *c)
{
	const int has_library =
	    !tw_cc_command_has(c, "-nostdlib") && !tw_cc_command_has(c, "-nodefaultlibs") && !tw_cc_command_has(c, "-nolibc");
	return has_library && (tw_cc_command_has(c, "-static") || tw_cc_command_has(c, "-static-pie"));
}

/* With -N there is no room for the start of the file; the linker then asks for its name without a word. */
static int has_no_header(const struct tw_cc_command *c)
{
	int is_asked = tw_cc_command_has(c, "-Wl,-N") || tw_cc_command_has(c, "-Wl,--omagic") || tw_cc_command_has(c, "-N");
	for (size_t k = c->compiler; k < c->n; k++)
		is_asked |= !strncmp(c->word[k], "-Wl,-N,", 7);
	return is_asked;
}

/* Build systems (libtool, for C++ libraries) see the link's inputs and name them in later links, to which this link adds them again. */
static int is_own_part(const char *word)
{
	static const char *const parts[] = {"trackway-cc.o", "trackway-cc-guard.o", "trackway-cc-batch.o"};
	const size_t n = strlen(word), suffix = sizeof TW_CC_BATCH_OBJECT - 1;
	for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
		if (!strcmp(tw_base_name(word), parts[k]))
			return 1;
	return strstr(word, "/trackway-cc-") && n > suffix && !strcmp(word + n - suffix, TW_CC_BATCH_OBJECT);
}

/* Is it an object for another machine, or for another mode of this one? */
static int is_of_other_machine(const char *path)
{
	Elf64_Ehdr h = {0};
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : pread(fd, &h, sizeof h, 0);
	if (fd >= 0)
		close(fd);
	return n == sizeof h && !memcmp(h.e_ident, ELFMAG, SELFMAG) && h.e_type == ET_REL &&
	       (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_X86_64);
}

/* The output is not for x86-64 (-m32, cross compilers), so nothing in it is instrumented. */
static int is_for_other_machine(const struct tw_cc_command *c, const struct tw_cc_words *w)
{
	if (tw_cc_command_has(c, "-m32") || tw_cc_command_has(c, "-mx32") || tw_cc_command_has(c, "-m16"))
		return 1;
	for (size_t k = 0; k < w->n; k++)
		if (w->at[k][0] != '-' && is_of_other_machine(w->at[k]))
			return 1;
	return 0;
}

/*
 * The run-time part comes last, so that definitions in the program's archives win; first if more than 2 GB of data
 * may lie between it and its own data.
 */
static int is_runtime_first(const struct tw_cc_command *c)
{
	return tw_cc_command_has(c, "-mcmodel=large") && !c->relocatable;
}

static int push_runtime(struct tw_cc_words *w)
{
	char *runtime = find_part("trackway-cc.o");
	if (runtime)
		tw_cc_push(w, runtime);
	return runtime ? 0 : TW_CC_OUR_FAILURE;
}

/* What programs and libraries carry. */
static int push_parts(const struct tw_cc_drive *d, struct tw_cc_words *w)
{
	if (!is_runtime_first(&d->command) && push_runtime(w))
		return TW_CC_OUR_FAILURE;
	tw_cc_push(w, "-Wl,--wrap=_Fork");
	if (is_static(&d->command))
		tw_cc_push(w, strstr(d->command.word[d->command.compiler - 1], "musl") ? FROM_MUSL : FROM_GLIBC);
	if (has_no_header(&d->command))
		tw_cc_push(w, "-Wl,--defsym=__ehdr_start=0");
	return push_archive(w) || push_guard(d, w) || push_batch(d, w) ? TW_CC_OUR_FAILURE : 0;
}

int tw_cc_link(const struct tw_cc_drive *d)
{
	const struct tw_cc_command *c = &d->command;
	struct tw_cc_words w = {0};
	tw_cc_push_compiler(d, &w, 0);
	if (c->n_sources && !c->is_gcc) /* clang warns of unused compiler options */
		tw_cc_push(&w, "-Qunused-arguments");
	if (is_runtime_first(c) && push_runtime(&w))
		return TW_CC_OUR_FAILURE;
	for (size_t k = c->compiler; k < c->n; k++) {
		if (tw_cc_is_compiled(c->kind[k]))
			tw_cc_push(&w, tw_cc_in_directory(d, k, ".o"));
		else if (c->kind[k] != TW_CC_WORD_LANGUAGE && c->kind[k] != TW_CC_WORD_COMPILE && c->kind[k] != TW_CC_WORD_MORE &&
		         !is_own_part(c->word[k]))
			tw_cc_push(&w, c->word[k]);
	}
	const int has_parts = !c->relocatable && !is_for_other_machine(c, &w);
	int status = has_parts ? push_parts(d, &w) : 0;
	if (!status)
		status = tw_cc_run(&w);
	free(w.at);
	if (status || !has_parts)
		return status;
	const char *output = c->output ? c->output : "a.out";
	say_thread_memory(c, output);
	return finish(output);
}
