/*
 * A compiler driver's command line, as far as it must be understood: which sources it compiles, what it makes of
 * them, and which of its words go to which step. Unknown words are passed on.
 */
#ifndef TW_CC_COMMAND_H
#define TW_CC_COMMAND_H

#include <stddef.h>

/* What the words are. */
enum tw_cc_word {
	TW_CC_WORD_FLAG,     /* goes to every step */
	TW_CC_WORD_SOURCE,   /* to be compiled: C, C++, Fortran */
	TW_CC_WORD_MORE,     /* source of D that is compiled into the first one's object */
	TW_CC_WORD_INPUT,    /* object, library, assembly: for the linker */
	TW_CC_WORD_HEADER,   /* to be precompiled */
	TW_CC_WORD_OUTPUT,   /* -o and what follows */
	TW_CC_WORD_MODE,     /* -c */
	TW_CC_WORD_LANGUAGE, /* -x and what follows */
	TW_CC_WORD_LINK,     /* for the linker only */
	TW_CC_WORD_COMPILE,  /* for the compiler proper only: -g, -M..., -flto */
	TW_CC_WORD_DROPPED,  /* -flto: not used for instrumented sources, but for the linker */
	TW_CC_WORD_ASSEMBLY, /* hand-written, to be instrumented; or to be preprocessed first */
	TW_CC_WORD_ASSEMBLY_CPP,
};

enum tw_cc_step { TW_CC_STEP_PLAIN, TW_CC_STEP_HEADER, TW_CC_STEP_COMPILE, TW_CC_STEP_LINK };

struct tw_cc_command {
	char **word;
	unsigned char *kind; /* enum tw_cc_word */
	size_t n;
	size_t compiler; /* words that name the compiler: 1, or more with launchers in front (ccache, env A=B) */
	int step; /* PLAIN: nothing to instrument; HEADER: precompiles headers; COMPILE: -c; LINK: compiles sources, if any, and links */
	const char *output;
	int depends, has_depend_file, has_depend_target; /* -MD or -MMD; -MF; -MT or -MQ */
	int auxiliary, saves, saves_beside, saves_here;  /* auxiliary.h; -save-temps; with =obj; with =cwd */
	int has_dump_directory, has_dump_base;           /* of gcc's: -dumpdir; -dumpbase */
	int pic, lto, relocatable;
	const char *needs_lto; /* an option that is nothing without -flto, or NULL */
	int is_gcc;
	size_t n_sources, n_inputs; /* n_inputs: with them what is not compiled */
};

static inline int tw_cc_is_assembly(unsigned char kind)
{
	return kind == TW_CC_WORD_ASSEMBLY || kind == TW_CC_WORD_ASSEMBLY_CPP;
}

/* Is this a source of D, by its name? */
int tw_cc_is_d(const char *source);

/* Does an object come of it? */
static inline int tw_cc_is_compiled(unsigned char kind)
{
	return kind == TW_CC_WORD_SOURCE || tw_cc_is_assembly(kind);
}

/* Takes the words, response files expanded. `assembly`: hand-written assembly is compiled too. 0, or -1 with errno set. */
int tw_cc_command_parse(int argc, char **argv, int assembly, struct tw_cc_command *c);
/*
 * A compiler's name, perhaps with a version after it and a target in front (x86_64-linux-gnu-gcc-12): offset of what
 * follows the target; -1: not a compiler.
 */
int tw_cc_compiler_in(const char *name);
/* Is it a word of the compiler's command? */
int tw_cc_command_has(const struct tw_cc_command *c, const char *word);

void tw_cc_command_free(struct tw_cc_command *c);

#endif
