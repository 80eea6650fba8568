/*
 * Names for addresses: the function, source file and line of executed code, the functions inlined there, and the
 * variable or mapping that contains data.
 *
 * They come from the recording's file `names` (symbols, lines and inlined functions of the code that ran). If that is
 * missing they come from the files as they are now: symbol tables, DWARF, separate debug files, debuginfod,
 * perf-PID.map and jitdump files.
 *
 * Code is identified by *image*, the memory of one program: threads of one process, and its forks, see the same code
 * at an address. tw_names_image() gives the image of a batch's thread; what was found for one thread of an image
 * holds for all of them.
 *
 *     struct tw_names *names = tw_names_open(recording, NULL);
 *     struct tw_code_name name;
 *     tw_names_code(names, tw_names_image(names, batch->thread), pc, &name);
 *     printf("%s %s:%u\n", name.function, name.file ? name.file : "?", name.line);
 *     tw_names_close(names);
 *
 * All texts live as long as the names. Any number of threads may ask at once.
 */
#ifndef TRACKWAY_NAMES_H
#define TRACKWAY_NAMES_H

#include <trackway/recording.h>

struct tw_names;

struct tw_names_options {
	int mangled;    /* 1: mangled names of C++ and Rust */
	int from_files; /* 1: use the files as they are now, whatever was kept */
};

/* `options` may be NULL: all zeros. The recording must outlive the names. NULL: no memory. Unreadable files only mean fewer names. */
struct tw_names *tw_names_open(const struct tw_recording *r, const struct tw_names_options *options);
void tw_names_close(struct tw_names *names);

/* The image, a small number, in which a thread (given by serial number) runs. */
uint32_t tw_names_image(const struct tw_names *names, uint32_t thread);

enum { TW_NAME_FRAMES = 24 };

/* A function that contains the code: the one that was compiled there, or one that was inlined into it. */
struct tw_name_frame {
	const char *function; /* never NULL */
	const char *file;     /* with directories, absolute if the compiler recorded where it ran; NULL: not known */
	uint32_t line;        /* of the code; in frames after the first: of the call of the previous frame; 0: not known */
};

struct tw_code_name {
	const char *function; /* as in the symbol table; module and address if there is no symbol: "gzip+0x3f40"; never NULL */
	/*
	 * The file name without directories, or "[vdso]". For code in no file: "[jit]" if the code has a name; otherwise its
	 * mapping's name, as "[JIT code of node]", "[code on the stack of gcc]", or "[anon]" if that is not known. Never
	 * NULL.
	 */
	const char *module;
	const char *path; /* path of the file, as mapped; "" if the code is in no file */
	uint64_t vaddr;   /* the file's own address for pc; pc if the code is in none */
	uint64_t start;   /* start of the function, as mapped; pc if not known */
	uint64_t offset;  /* pc - start */
	int known;        /* 1: named by a symbol, 0: by its address */
	int plt;          /* 1: a PLT stub, named "puts@plt"; 2: the common part of all stubs; 0: no stub */
	const char *file; /* of frame[0] */
	uint32_t line;
	/* Why there is no symbol, or no line: "the file is missing"; "" if nothing is missing. */
	const char *why;
	/* The innermost first; the last one is `function`. At least one. If there are too many, those in the middle are omitted. */
	unsigned n_frames;
	struct tw_name_frame frame[TW_NAME_FRAMES];
};

/*
 * Does `wanted` name this function: the whole name, a C++ name without its parameters, or a symbol without its
 * version (memcpy@@GLIBC_2.14)?
 */
int tw_names_is(const struct tw_code_name *name, const char *wanted);

/* Names the code at pc. Always gives a name. */
void tw_names_code(struct tw_names *names, uint32_t image, uint64_t pc, struct tw_code_name *out);

struct tw_data_name {
	const char *object; /* the variable: "table", or its file's mapping: "libc.so.6"; "" if neither is known */
	const char *module; /* as above; "" if the address is in no mapped file */
	uint64_t start;     /* where the object begins, as mapped */
	uint64_t bytes;     /* of the object; 0: not known */
	uint64_t offset;    /* of the address in it */
	int known;          /* 1: a variable, by its symbol; 2: likewise, but thread-local, so not where its file is mapped */
};

/* Names the variable at an address, if it is static, or thread-local in a module loaded at program start. */
void tw_names_data(struct tw_names *names, uint32_t image, uint64_t address, struct tw_data_name *out);

/*
 * The full name of what is at an address within a variable, as the source writes it: "stats.hits", "table[3].next".
 * "table+12" where the type is unknown, or where no member begins there. Types come from the files as they are now.
 * Returns how many bytes from the address on belong to it; 0, and "" in `text`, if no variable is known there. The text
 * is cut to `size` bytes, NUL included.
 */
uint64_t tw_names_variable(struct tw_names *names, uint32_t image, uint64_t address, char *text, size_t size);

/*
 * Places of a function or variable of this name, in one image or in all (UINT32_MAX). `module` NULL: any; otherwise a
 * path, a file name, or a file name up to ".so". Fills at most `room` places; returns how many there are.
 */
struct tw_named_place {
	uint32_t image;
	uint64_t start, bytes;
};
size_t tw_names_find(struct tw_names *names, const char *module, const char *name, uint32_t image, struct tw_named_place *places,
                     size_t room);

/* Files that provide no names although code of them ran: the reason for the n-th, and its path; NULL after the last one. */
const char *tw_names_problem(const struct tw_names *names, size_t n, const char **path);

#endif
