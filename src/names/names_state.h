/*
 * Shared by the sources of the names: names.c (opening, and names of code) and variables.c (data, and places by
 * name).
 */
#ifndef TW_NAMES_STATE_H
#define TW_NAMES_STATE_H

#include "names/anonymous.h"
#include "names/begins.h"
#include "names/own_bases.h"
#include "names/own_variables.h"
#include "names/members.h"
#include "names/table.h"

#include <pthread.h>

/* A place where a function begins, as some call says. */
struct tw_name_target {
	uint32_t pid;
	uint64_t pc;
};

struct tw_names {
	const struct tw_recording *recording;
	struct tw_places places;
	struct tw_name_table *tables; /* those of the files, parallel to those of the places; then those of code made by processes */
	size_t n_tables;
	struct tw_name_target *targets; /* sorted */
	size_t n_targets;
	struct tw_begins begins;
	pthread_mutex_t lock; /* protects the texts, and what is found when first asked for: */
	struct tw_anonymous anonymous;
	int has_anonymous;
	_Atomic int has_own; /* protects thread-local variables, which do not change once found: */
	struct tw_own_bases own_bases;
	struct tw_own_names *own; /* NULL: there are none */
	int has_members;
	struct tw_members *members; /* NULL: there is no memory */
	int mangled;
	struct tw_texts texts; /* names of what has no symbol */
};

/* What an address is in. */
struct tw_name_at {
	const struct tw_module *module;    /* NULL: no file */
	const struct tw_name_table *table; /* NULL: nothing is known */
	uint64_t vaddr;
};

/* `pid`: a process or an image, as in places.h. */
struct tw_name_at tw_name_at(const struct tw_names *n, uint32_t pid, uint64_t pc);

#endif
