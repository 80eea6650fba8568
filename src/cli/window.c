#include "cli/window.h"
#include "names/before.h"
#include "names/places.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

/* Is the program position-independent, so that the engine chooses its address? */
static int moves(const char *program)
{
	Elf64_Ehdr header = {0};
	FILE *f = fopen(program, "re");
	const int read = f && fread(&header, sizeof header, 1, f) == 1;
	if (f)
		fclose(f);
	return read && header.e_type == ET_DYN;
}

static int address_before(const char *option, const char *program, const struct tw_where *w)
{
	if (w->value >= 0x10000000 || !moves(program))
		return 0;
	fprintf(stderr,
	        "trackway record: %s: 0x%llx is a memory address, but this program has no code there; an address in its file is given as "
	        "%s!0x%llx\n",
	        option, (unsigned long long)w->value, tw_base_name(program), (unsigned long long)w->value);
	return -1;
}

static int refuse(const char *option, const struct tw_where *w, const struct tw_before_answer *a)
{
	const char *near = a->near[0] ? "; names like it: " : "";
	if (a->what == TW_BEFORE_NO_MODULE)
		fprintf(stderr, "trackway record: %s: no file %s is among the program and its libraries\n", option, w->module);
	else if (a->what == TW_BEFORE_INLINED)
		fprintf(stderr, "trackway record: %s: %s is inlined everywhere in %s: it is never entered; name a function that calls it\n",
		        option, w->function, a->file);
	else if (!w->function[0])
		fprintf(stderr, "trackway record: %s: nothing of %s is loaded from that address\n", option, a->file);
	else
		fprintf(stderr, "trackway record: %s: there is no function %s in %s%s%s\n", option, w->function, a->file, near, a->near);
	return -1;
}

static int several(const char *option, const struct tw_where *w, const struct tw_before_answer *a)
{
	fprintf(stderr, "trackway record: %s: %s is the name of several functions; name one as the linker does: %s\n", option, w->function,
	        a->near);
	return -1;
}

static void warn(const char *option, const char *program, const struct tw_where *w, const struct tw_before_answer *a)
{
	const char *near = a->near[0] ? "; names like it: " : "";
	if (a->what == TW_BEFORE_INLINED)
		fprintf(stderr, "trackway: %s: %s is inlined everywhere in %s and its libraries; only what is loaded later can enter it\n",
		        option, w->function, tw_base_name(program));
	else
		fprintf(stderr, "trackway: %s: %s and its libraries have no function %s; what is loaded later may have it%s%s\n", option,
		        tw_base_name(program), w->function, near, a->near);
}

int tw_window_before(const char *option, const char *program, const char *as_given, struct tw_where *where, int quiet)
{
	struct tw_before_answer answer;
	if (!as_given)
		return 0;
	if (where->kind == TW_WHERE_ADDRESS)
		return address_before(option, program, where);
	if (where->kind != TW_WHERE_FUNCTION)
		return 0;
	tw_before_look(program, where, &answer);
	if (answer.what == TW_BEFORE_FOUND)
		return 0;
	if (answer.what == TW_BEFORE_SEVERAL)
		return several(option, where, &answer);
	if (!answer.everywhere)
		return refuse(option, where, &answer);
	if (!quiet)
		warn(option, program, where, &answer);
	return 0;
}
