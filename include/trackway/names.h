/*
 * Names for addresses: the function, source file and line of code that ran, the functions inlined there, and the variable or mapping that data belongs to.
 *
 * They come from what was kept with the recording when it was made (its file `names`: symbols, lines and inlined functions of the code that ran). Where nothing
 * was kept they come from the files as they are now: symbol tables, DWARF, separate debug files, debuginfod, perf-PID.map and jitdump files.
 *
 * Code is told apart by *image*, the memory of one program: threads of one process, and its forks, see the same code at an address. tw_names_image() tells that
 * of a thread of a batch, so what was found for one thread of an image holds for all.
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
	int mangled;    /* 1: names of C++ and Rust as the linker knows them */
	int from_files; /* 1: from the files as they are now, whatever was kept */
};

/* `options` may be NULL: all zeros. The recording must outlive the names. NULL: no memory. What cannot be read only makes for fewer names. */
struct tw_names *tw_names_open(const struct tw_recording *r, const struct tw_names_options *options);
void tw_names_close(struct tw_names *names);

/* The image that a thread (its serial number) runs in: a small number. */
uint32_t tw_names_image(const struct tw_names *names, uint32_t thread);

enum { TW_NAME_FRAMES = 24 };

/* A function that code is part of: the one that was compiled there, or one that was inlined into it. */
struct tw_name_frame {
	const char *function; /* never NULL */
	const char *file;     /* with directories, absolute if the compiler said where it ran; NULL: not known */
	uint32_t line;        /* of the code; in frames behind the first: of the call of the one before; 0: not known */
};

struct tw_code_name {
	const char *function; /* as in the symbol table; by its module and address if there is no symbol: "gzip+0x3f40"; never NULL */
	/* The file's name without directories, "[vdso]"; of code in no file "[jit]" if it has a name, else what its mapping is called, as "[JIT code of node]", "[code on the stack of gcc]", or
	 * "[anon]" if that is not known; never NULL. */
	const char *module;
	const char *path; /* of the file, as mapped; "" if the code is in none */
	uint64_t vaddr;   /* the file's own address for pc; pc if the code is in none */
	uint64_t start;   /* where the function begins, as mapped; pc if that is not known */
	uint64_t offset;  /* pc - start */
	int known;        /* 1: named by a symbol, 0: by its address */
	int plt;          /* 1: a stub of a PLT, named "puts@plt"; 2: what all stubs have in common; 0: no stub */
	const char *file; /* of frame[0] */
	uint32_t line;
	/* Why there is no symbol, or else no line: "the file is missing"; "" if nothing is missing. */
	const char *why;
	/* The innermost first; the last one is `function`. At least one. Of more than there is room for, the ones in the middle are left out. */
	unsigned n_frames;
	struct tw_name_frame frame[TW_NAME_FRAMES];
};

/* Whether `wanted` names this function: the whole name, that of C++ without its parameters, or that of a symbol without its version (memcpy@@GLIBC_2.14). */
int tw_names_is(const struct tw_code_name *name, const char *wanted);

/* Names the code at pc. Always gives a name. */
void tw_names_code(struct tw_names *names, uint32_t image, uint64_t pc, struct tw_code_name *out);

struct tw_data_name {
	const char *object; /* the variable: "table", or its file's mapping: "libc.so.6"; "" if neither is known */
	const char *module; /* as above; "" if the address is in no mapped file */
	uint64_t start;     /* where the object begins, as mapped */
	uint64_t bytes;     /* of the object; 0: not known */
	uint64_t offset;    /* of the address in it */
	int known; /* 1: a variable, by its symbol; 2: likewise, one that each thread has of its own, not where its file is mapped (thread_local) */
};

/* Names the variable at an address, if it is a static one, or a thread_local one of what was loaded when the program began. */
void tw_names_data(struct tw_names *names, uint32_t image, uint64_t address, struct tw_data_name *out);

/*
 * Where a function or variable of this name is, of all images or of one (UINT32_MAX: all). `module` NULL: any; else a path, a file name, or the name without
 * what is behind ".so". Fills at most `room` places; returns how many there are.
 */
struct tw_named_place {
	uint32_t image;
	uint64_t start, bytes;
};
size_t tw_names_find(struct tw_names *names, const char *module, const char *name, uint32_t image, struct tw_named_place *places,
                     size_t room);

/* Files that give no names though code of them ran: why the one with number n gives none, and its path; NULL behind the last one. */
const char *tw_names_problem(const struct tw_names *names, size_t n, const char **path);

#endif
