#include "cc/command.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int starts_with(const char *s, const char *word)
{
	return !strncmp(s, word, strlen(word));
}

static int starts_with_one_of(const char *s, const char *const *words)
{
	while (*words && !starts_with(s, *words))
		words++;
	return *words != NULL;
}

static int is_one_of(const char *s, const char *const *words)
{
	while (*words && strcmp(s, *words))
		words++;
	return *words != NULL;
}

/* ---- words ---- */

static int add(struct tw_cc_command *c, const char *from, size_t n)
{
	char **more = realloc(c->word, (c->n + 2) * sizeof *more);
	char *copy = strndup(from, n);
	if (!more || !copy) {
		free(copy);
		return -1;
	}
	c->word = more;
	c->word[c->n++] = copy;
	c->word[c->n] = NULL;
	return 0;
}

static char *read_file(const char *path)
{
	size_t n = 0, room = 4096;
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(room) : NULL;
	for (size_t got; text && (got = fread(text + n, 1, room - n - 1, f)) > 0;) {
		n += got;
		char *more = room - n < 2 ? realloc(text, room *= 2) : text;
		if (!more)
			free(text);
		text = more;
	}
	if (f)
		fclose(f);
	if (text)
		text[n] = 0;
	return text;
}

static int add_file(struct tw_cc_command *c, const char *path, int depth);

/* Adds a response file's words: separated by blanks, with quotes and backslashes as compilers read them. */
static int add_text(struct tw_cc_command *c, const char *s, int depth)
{
	char *word = malloc(strlen(s) + 1);
	while (word) {
		size_t n = 0;
		char quote = 0;
		while (isspace((unsigned char)*s))
			s++;
		if (!*s)
			break;
		for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
			if (*s == '\\' && s[1])
				word[n++] = *++s;
			else if (quote ? *s == quote : *s == '"' || *s == '\'')
				quote = quote ? 0 : *s;
			else
				word[n++] = *s;
		}
		word[n] = 0;
		if (word[0] == '@' ? add_file(c, word, depth + 1) : add(c, word, n)) {
			free(word);
			return -1;
		}
	}
	free(word);
	return word ? 0 : -1;
}

/* `word`: @ and a path. If the file cannot be read, the word stands for itself. */
static int add_file(struct tw_cc_command *c, const char *word, int depth)
{
	char *text = depth < 16 ? read_file(word + 1) : NULL;
	if (!text)
		return add(c, word, strlen(word));
	int error = add_text(c, text, depth);
	free(text);
	return error;
}

/* ---- kinds ---- */

/* Long names of relevant options, with their short names. All may have a value. */
static const char *const long_names[][2] = {{"--compile", "-c"},
                                            {"--assemble", "-S"},
                                            {"--preprocess", "-E"},
                                            {"--dependencies", "-M"},
                                            {"--user-dependencies", "-MM"},
                                            {"--write-dependencies", "-MD"},
                                            {"--write-user-dependencies", "-MMD"},
                                            {"--output", "-o"},
                                            {"--language", "-x"},
                                            {"--shared", "-shared"},
                                            {"--static", "-static"},
                                            {"--save-temps", "-save-temps"},
                                            {"-coverage", "--coverage"}};

/* Puts the short name in the place of a long one. */
static int shorten(char **word)
{
	for (size_t k = 0; k < sizeof long_names / sizeof *long_names; k++) {
		const char *name = long_names[k][0], *is = long_names[k][1], *rest = *word + strlen(name);
		char *now;
		if (!starts_with(*word, name) || (*rest && *rest != '='))
			continue;
		if (asprintf(&now, "%s%s", is, *rest && strlen(is) == 2 ? rest + 1 : rest) < 0)
			return -1;
		free(*word);
		*word = now;
		break;
	}
	return 0;
}

/* Options whose value is the next word. */
static const char *const with_value[] = {"-I",
                                         "-D",
                                         "-U",
                                         "-include",
                                         "-imacros",
                                         "-isystem",
                                         "-iquote",
                                         "-idirafter",
                                         "-iprefix",
                                         "-iwithprefix",
                                         "-isysroot",
                                         "-MF",
                                         "-MT",
                                         "-MQ",
                                         "-Xassembler",
                                         "-Xclang",
                                         "-mllvm",
                                         "-A",
                                         "--param",
                                         "-aux-info",
                                         "-B",
                                         "-target",
                                         "--include",
                                         "--imacros",
                                         "--include-directory",
                                         "--include-directory-after",
                                         "--include-prefix",
                                         "--include-with-prefix",
                                         "--include-with-prefix-before",
                                         "--include-with-prefix-after",
                                         "--define-macro",
                                         "--undefine-macro",
                                         "--assert",
                                         "--sysroot",
                                         "-J",
                                         "-Xpreprocessor",
                                         "-imultilib",
                                         "-dumpbase",
                                         "-dumpdir",
                                         "-wrapper",
                                         "-G",
                                         "-dumpbase-ext",
                                         "-iwithprefixbefore",
                                         "-iwithsysroot",
                                         "-imultiarch",
                                         "-include-pch",
                                         "-arch",
                                         "-cxx-isystem",
                                         "-MJ",
                                         "-gen-cdb-fragment-path",
                                         "-working-directory",
                                         "-dependency-file",
                                         "-serialize-diagnostics",
                                         "--serialize-diagnostics",
                                         "--config",
                                         "-Xanalyzer",
                                         "-Xopenmp-target",
                                         "-fintrinsic-modules-path",
                                         NULL};
static const char *const link_with_value[] = {"-Xlinker", "-L", "-l", "-T", "-u", "-z", "-e", "-rpath", "-soname", "-h", NULL};
static const char *const no_instrumenting[] = {"-S",         "-E",        "-M",           "-MM",          "-fsyntax-only",
                                               "--version",  "-###",      "-dumpversion", "-dumpmachine", "-dumpfullversion",
                                               "-emit-llvm", "-emit-ast", "--analyze",    "--precompile", "-fmodule-only",
                                               NULL};
static const char *const link_only[] = {"-shared",
                                        "-static",
                                        "-static-pie",
                                        "-rdynamic",
                                        "-s",
                                        "-r",
                                        "-nostdlib",
                                        "-nostartfiles",
                                        "-nodefaultlibs",
                                        "-nolibc",
                                        "-static-libgcc",
                                        "-static-libstdc++",
                                        "-static-libgfortran",
                                        "-shared-libgcc",
                                        "-pie",
                                        "-no-pie",
                                        NULL};
static const char *const link_only_with[] = {
    "-Wl,", "-l", "-L", "-fuse-ld=", "--ld-path=", "-rtlib=", "--rtlib=", "-unwindlib=", "--unwindlib=", NULL};
/* These options, and those that begin with the second list's words, create files beside the object. */
static const char *const auxiliary[] = {
    "--coverage", "-ftest-coverage", "-fbranch-probabilities", "-fstack-usage", "-gsplit-dwarf", "-fsave-optimization-record", NULL};
static const char *const auxiliary_with[] = {"-fprofile-", "-fcallgraph-info", "-fdump-", "-save-temps", "-da", "-dr", NULL};
static const char *const headers[] = {"h", "H", "hh", "hp", "hxx", "hpp", "HPP", "h++", "tcc", NULL};
static const char *const sources[] = {"c",   "i",   "cc",  "cp",  "cxx", "cpp", "CPP", "c++", "C",   "ii",  "f",   "for",
                                      "ftn", "F",   "FOR", "fpp", "FPP", "FTN", "f90", "f95", "f03", "f08", "F90", "F95",
                                      "F03", "F08", "adb", "ads", "d",   "m",   "mi",  "mm",  "mii", "M",   NULL};

static const char *suffix_of(const char *word)
{
	const char *dot = strrchr(word, '.');
	return dot && !strchr(dot, '/') ? dot + 1 : "";
}

/* Of the languages that -x names. */
static int is_language(const char *x)
{
	static const char *const names[] = {"c",
	                                    "c++",
	                                    "cpp-output",
	                                    "c++-cpp-output",
	                                    "f77",
	                                    "f95",
	                                    "f77-cpp-input",
	                                    "f95-cpp-input",
	                                    "ada",
	                                    "d",
	                                    "objective-c",
	                                    "objective-c-cpp-output",
	                                    "objective-c++",
	                                    "objective-c++-cpp-output",
	                                    NULL};
	return is_one_of(x, names);
}

/* "c-header", "c++-system-header", "c++-header-unit-header" */
static int is_header_language(const char *x)
{
	const size_t n = strlen(x);
	return n > 7 && !strcmp(x + n - 7, "-header");
}

struct reading {
	struct tw_cc_command *c;
	int assembly;
	const char *language; /* of -x; NULL: by the file's name */
};

/* What a word is that is no option. */
static unsigned char kind_of_file(const struct reading *r, const char *word)
{
	static const char *const plain[] = {"s", "assembler", NULL}, *const with_cpp[] = {"S", "sx", "assembler-with-cpp", NULL};
	const char *what = r->language ? r->language : suffix_of(word);
	if (r->assembly && is_one_of(what, plain))
		return TW_CC_WORD_ASSEMBLY;
	if (r->assembly && is_one_of(what, with_cpp))
		return TW_CC_WORD_ASSEMBLY_CPP;
	if (r->language ? is_language(r->language) : word[0] != '-' && is_one_of(what, sources))
		return TW_CC_WORD_SOURCE;
	return (r->language ? is_header_language(r->language) : is_one_of(what, headers)) ? TW_CC_WORD_HEADER : TW_CC_WORD_INPUT;
}

static const char *const of_compiling[] = {"--serialize-diagnostics", "-serialize-diagnostics", "-save-stats=obj", "--save-stats=obj",
                                           NULL};

static void note_flag(struct tw_cc_command *c, const char *w, unsigned char *kind)
{
	if (!strcmp(w, "-MD") || !strcmp(w, "-MMD"))
		c->depends = 1;
	if (!c->is_gcc && (starts_with(w, "-Wp,-MD,") ||
	                   starts_with(w, "-Wp,-MMD,"))) { /* clang names the target after what it makes, gcc after the source */
		c->depends = c->has_depend_file = 1;
		c->has_depend_target |= strstr(w, ",-MT,") || strstr(w, ",-MQ,");
	}
	if (starts_with(w, "-MF"))
		c->has_depend_file = 1;
	if (starts_with(w, "-MT") || starts_with(w, "-MQ"))
		c->has_depend_target = 1;
	c->auxiliary |= is_one_of(w, auxiliary) || starts_with_one_of(w, auxiliary_with);
	if (!strcmp(w, "-fwhole-program-vtables") || (starts_with(w, "-fsanitize=") && strstr(w, "cfi")))
		c->needs_lto = w;
	c->has_dump_directory |= !strcmp(w, "-dumpdir");
	c->has_dump_base |= !strcmp(w, "-dumpbase");
	if (starts_with(w, "-save-temps")) {
		c->saves = 1;
		c->saves_beside = !strcmp(w, "-save-temps=obj");
		c->saves_here = !strcmp(w, "-save-temps=cwd");
	}
	if (starts_with(w, "-save-temps") || starts_with(w, "-dump"))
		*kind = TW_CC_WORD_COMPILE;
	if (is_one_of(w, of_compiling)) /* clang would write, or remove, the same file where it assembles */
		*kind = TW_CC_WORD_COMPILE;
	if (starts_with(w, "-M") || (starts_with(w, "-g") && strcmp(w, "-gsplit-dwarf")))
		*kind = TW_CC_WORD_COMPILE;
	if (starts_with(w, "-flto") || !strcmp(w, "-ffat-lto-objects") || !strcmp(w, "-fno-fat-lto-objects")) {
		c->lto |= starts_with(w, "-flto");
		*kind = TW_CC_WORD_DROPPED;
	}
	if (!strcmp(w, "-fPIC") || !strcmp(w, "-fpic"))
		c->pic = 1;
	if (!strcmp(w, "-fPIE") || !strcmp(w, "-fpie") || !strcmp(w, "-fno-pic") || !strcmp(w, "-fno-PIC") || !strcmp(w, "-fno-pie") ||
	    !strcmp(w, "-fno-PIE"))
		c->pic = 0;
	if (!strcmp(w, "-r"))
		c->relocatable = 1;
	if (!strcmp(w, "-shared"))
		c->pic = 1;
}

/* Classifies word k. Returns how many words belong to it. */
static size_t classify(struct reading *r, size_t k)
{
	struct tw_cc_command *c = r->c;
	const char *w = c->word[k], *next = k + 1 < c->n ? c->word[k + 1] : NULL;
	unsigned char kind = TW_CC_WORD_FLAG;
	size_t n = 1;
	if (w[0] != '-' || !w[1]) {
		kind = kind_of_file(r, w);
		c->n_sources += (size_t)tw_cc_is_compiled(kind);
	} else if (starts_with(w, "-o")) {
		kind = TW_CC_WORD_OUTPUT;
		n = w[2] || !next ? 1 : 2;
		c->output = w[2] ? w + 2 : next;
	} else if (starts_with(w, "-x")) {
		kind = TW_CC_WORD_LANGUAGE;
		n = w[2] || !next ? 1 : 2;
		r->language = w[2] ? w + 2 : next;
		if (r->language && !strcmp(r->language, "none"))
			r->language = NULL;
	} else if (!strcmp(w, "-c")) {
		kind = TW_CC_WORD_MODE;
		c->step = c->step == TW_CC_STEP_PLAIN ? TW_CC_STEP_PLAIN : TW_CC_STEP_COMPILE;
	} else if (is_one_of(w, no_instrumenting) || starts_with(w, "-print-") || starts_with(w, "--print-") || starts_with(w, "--help")) {
		c->step = TW_CC_STEP_PLAIN;
	} else if (is_one_of(w, link_with_value)) {
		kind = TW_CC_WORD_LINK;
		n = next ? 2 : 1;
	} else if (is_one_of(w, link_only) || starts_with_one_of(w, link_only_with)) {
		kind = TW_CC_WORD_LINK;
	} else if (is_one_of(w, with_value)) {
		n = next ? 2 : 1;
	}
	if (w[0] == '-')
		note_flag(c, w, &kind);
	for (size_t m = k; m < k + n; m++)
		c->kind[m] = kind;
	return n;
}

/* Is what is left of a compiler's name nothing, or a version? */
static int is_version(const char *s)
{
	if (!*s)
		return 1;
	if (*s++ != '-' || !isdigit((unsigned char)*s))
		return 0;
	return s[strspn(s, "0123456789.")] == 0;
}

int tw_cc_compiler_in(const char *name)
{
	static const char *const names[] = {"clang++", "clang", "gfortran", "gcc", "g++", "c++", "cc",
	                                    "c89",     "c99",   "f77",      "f95", "gdc", NULL};
	for (const char *at = name; at; at = strchr(at, '-') ? strchr(at, '-') + 1 : NULL)
		for (size_t k = 0; names[k]; k++)
			if (starts_with(at, names[k]) && is_version(at + strlen(names[k])))
				return (int)(at - name);
	return -1;
}

static const char *base_of(const char *word)
{
	const char *slash = strrchr(word, '/');
	return slash ? slash + 1 : word;
}

/* Words up to the compiler's name: a launcher may come first. */
static size_t count_compiler(size_t n, char **word)
{
	static const char *const launchers[] = {"ccache", "sccache", "distcc", NULL};
	for (size_t k = 0; k < n && (!k || word[k][0] != '-'); k++)
		if (tw_cc_compiler_in(base_of(word[k])) >= 0)
			return k + 1;
	return n > 1 && is_one_of(base_of(word[0]), launchers) ? 2 : 1;
}

static int looks_like_gcc(const char *word)
{
	const char *name = base_of(word);
	return !strstr(name, "clang") && !strstr(name, "flang");
}

int tw_cc_is_d(const char *source)
{
	return !strcmp(suffix_of(source), "d");
}

/*
 * Sources of D become one object, which the first one names. With files beside it, whose names gdc then takes from the
 * assembly file, the compiler makes it.
 */
static void combine_d(struct tw_cc_command *c)
{
	size_t n_d = 0;
	for (size_t k = c->compiler; k < c->n && c->step != TW_CC_STEP_PLAIN; k++)
		if (c->kind[k] == TW_CC_WORD_SOURCE && tw_cc_is_d(c->word[k]) && n_d++ && !c->auxiliary) {
			c->kind[k] = TW_CC_WORD_MORE;
			c->n_sources--;
		}
	if (n_d > 1 && c->auxiliary && c->step == TW_CC_STEP_COMPILE)
		c->step = TW_CC_STEP_PLAIN;
}

/*
 * The compiler does everything if there is no source, if several sources would become one object (an error), or if
 * -flto is essential.
 */
static void decide_step(struct tw_cc_command *c)
{
	size_t n_headers = 0;
	combine_d(c);
	for (size_t k = c->compiler; k < c->n; k++) {
		n_headers += c->kind[k] == TW_CC_WORD_HEADER;
		c->n_inputs += tw_cc_is_compiled(c->kind[k]) || c->kind[k] == TW_CC_WORD_MORE || c->kind[k] == TW_CC_WORD_INPUT;
	}
	if (n_headers && !c->n_inputs && c->step != TW_CC_STEP_PLAIN)
		c->step = TW_CC_STEP_HEADER;
	else if (!c->n_inputs || (c->step == TW_CC_STEP_COMPILE && (!c->n_sources || (c->output && c->n_sources > 1))))
		c->step = TW_CC_STEP_PLAIN;
	if (!c->lto || !c->n_sources || c->step == TW_CC_STEP_PLAIN)
		c->needs_lto = NULL;
	if (c->needs_lto)
		c->step = TW_CC_STEP_PLAIN;
}

int tw_cc_command_parse(int argc, char **argv, int assembly, struct tw_cc_command *c)
{
	memset(c, 0, sizeof *c);
	c->compiler = count_compiler((size_t)argc, argv);
	for (int k = 0; k < argc; k++)
		if ((size_t)k >= c->compiler && argv[k][0] == '@' ? add_file(c, argv[k], 0) : add(c, argv[k], strlen(argv[k]))) {
			errno = ENOMEM;
			return -1;
		}
	c->kind = calloc(c->n + 1, 1);
	if (!c->kind)
		return -1;
	for (size_t k = c->compiler; k < c->n; k++)
		if (shorten(&c->word[k]))
			return -1;
	c->step = TW_CC_STEP_LINK;
	c->is_gcc = looks_like_gcc(c->word[c->compiler - 1]);
	struct reading r = {c, assembly, NULL};
	for (size_t k = c->compiler; k < c->n;)
		k += classify(&r, k);
	decide_step(c);
	return 0;
}

int tw_cc_command_has(const struct tw_cc_command *c, const char *word)
{
	for (size_t k = c->compiler; k < c->n; k++)
		if (!strcmp(c->word[k], word))
			return 1;
	return 0;
}

void tw_cc_command_free(struct tw_cc_command *c)
{
	for (size_t k = 0; k < c->n; k++)
		free(c->word[k]);
	free(c->word);
	free(c->kind);
}
