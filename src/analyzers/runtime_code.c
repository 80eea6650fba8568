#include "analyzers/runtime_code.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static int begins(const char *name, const char *const *with)
{
	for (; *with; with++)
		if (!strncmp(name, *with, strlen(*with)))
			return 1;
	return 0;
}

/* Does it check what it has read before it reads on? Of the functions for two strings only these do: others read ahead. */
static int scans(const char *name)
{
	static const char *const one[] = {"strlen", "strchr", "strrchr", "memchr", "wcslen", "wcschr", NULL};
	static const char *const two[] = {"strcmp", "strncmp", "strcasecmp", "strncasecmp", "strcpy", "stpcpy", "strcat", NULL};
	return begins(name, one) || (begins(name, two) && (strstr(name, "_avx2") || strstr(name, "_evex")));
}

/* For a function that works on memory passed to it; `name` without leading underscores. One for SSSE3 reads whole aligned words. */
static enum tw_code_owner kind_of_given(const char *name)
{
	static const char *const copies[] = {"memcpy", "memmove", "mempcpy", "memset", "wmemset", NULL};
	if (begins(name, copies) && !strstr(name, "ssse3"))
		return TW_CODE_COPY;
	return scans(name) ? TW_CODE_SCAN : TW_CODE_GIVEN;
}

/* Without leading underscores. Functions that print strings piece by piece also work on memory passed to them. */
static int is_given(const char *name)
{
	static const char *const given[] = {"mem", "str", "wcs", "wmem", "bcopy", "bzero", "stp", "IO_default_xsputn", NULL};
	return begins(name, given);
}

/* One of those that the C library has several of, for several processors. */
static int is_variant(const char *name)
{
	static const char *const sets[] = {"_sse", "_ssse", "_avx", "_evex", "_erms"};
	for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
		if (strstr(name, sets[i]))
			return 1;
	return 0;
}

/*
 * In a program into which the C library may be linked: its functions with several variants, and the one that frees a
 * thread's part of the heap.
 */
static enum tw_code_owner kind_in_program(const char *name)
{
	static const char *const own[] = {"malloc_arena_thread_freeres", "tcache_thread_shutdown", "libc_freeres", NULL};
	if (begins(name, own))
		return TW_CODE_LIBRARY;
	return is_given(name) && is_variant(name) ? kind_of_given(name) : TW_CODE_PROGRAM;
}

static enum tw_code_owner look_up(struct tw_runtime_code *r, uint64_t pc, uint32_t thread)
{
	static const char *const files[] = {"libc.so", "libc-2", "ld-linux", "ld-2", "libpthread", "librt", "[vdso]", NULL};
	static const char *const loaders[] = {"ld-linux", "ld-2", NULL};
	static const char *const openmp[] = {"libgomp.so", NULL};
	static const char *const streams[] = {"_IO_file_xsputn", "_IO_new_file_xsputn", "_IO_wfile_xsputn", NULL};
	struct tw_names *names = tw_context_names(r->context);
	struct tw_code_name name;
	if (!names)
		return TW_CODE_PROGRAM;
	tw_names_code(names, tw_names_image(names, thread), pc, &name);
	const char *function = name.function + strspn(name.function, "_");
	if (begins(name.module, openmp))
		return TW_CODE_OPENMP;
	if (!begins(name.module, files))
		return kind_in_program(function);
	if (begins(name.module, loaders))
		return TW_CODE_LIBRARY;
	if (begins(name.function, streams))
		return TW_CODE_STREAM;
	return is_given(function) ? kind_of_given(function) : TW_CODE_LIBRARY;
}

enum tw_code_owner tw_runtime_code_look(struct tw_runtime_code *r, const struct tw_block_run *b, uint32_t thread)
{
	const struct tw_descriptor *d = b->descriptor;
	uint8_t *of = tw_by_fragment_get(&r->fragments, d->number);
	if (!of) {
		of = calloc(d->n_blocks, 1);
		if (!of || !tw_by_fragment_set(&r->fragments, d->number, of)) {
			free(of);
			return TW_CODE_PROGRAM;
		}
	}
	of[b->block] = (uint8_t)(look_up(r, b->pc, thread) + 1);
	return (enum tw_code_owner)(of[b->block] - 1);
}

enum tw_code_owner tw_runtime_code_at(struct tw_runtime_code *r, uint64_t pc, uint32_t thread)
{
	const size_t i = pc % (sizeof r->recent / sizeof r->recent[0]);
	if (!r->recent[i].owner || r->recent[i].pc != pc) {
		r->recent[i].pc = pc;
		r->recent[i].owner = (uint8_t)(look_up(r, pc, thread) + 1);
	}
	return (enum tw_code_owner)(r->recent[i].owner - 1);
}

void tw_runtime_code_free(struct tw_runtime_code *r)
{
	tw_by_fragment_free(&r->fragments, free);
}

int tw_is_go_runtime(const char *function)
{
	static const char runtime[] = "runtime.";
	static const char *const packages[] = {"runtime/internal/", "internal/runtime/", "sync.(*", NULL};
	static const char *const programs[] = {"mem", "map", "(*hmap)", "slice", "growslice", "concatstring", "string", "typed", NULL};
	static const char *const parts_of_c[] = {"cold", "part.", "isra.", "constprop.", "lto_", NULL}; /* of a function named runtime */
	if (strncmp(function, runtime, sizeof runtime - 1))
		return begins(function, packages);
	function += sizeof runtime - 1;
	return !begins(function, programs) && !begins(function, parts_of_c);
}

int tw_is_go_assembly(const char *function, const char *file)
{
	static const char *const bodies[] = {"memeqbody", "cmpbody", "countbody", "indexbody", "indexbytebody", "aeshashbody"};
	if (!file || !tw_has_suffix(file, "_amd64.s"))
		return 0;
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
		if (!strcmp(function, bodies[i]))
			return 1;
	return 0;
}
