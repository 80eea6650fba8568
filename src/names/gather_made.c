/* Code made by a process at run time, according to its perf-PID.map and its jitdump files. */
#include "names/gather.h"
#include "base/array.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A function as created. Code may be replaced by new code at the same place: the newest is kept. */
struct made {
	uint64_t start, end;
	uint32_t name, age;
};

struct list {
	struct tw_name_table *t;
	struct made *items;
	size_t n, room;
	int ok;
};

static void add(struct list *l, uint64_t start, uint64_t bytes, const char *name)
{
	struct made *items = tw_array_room(l->items, l->n, &l->room, sizeof *items);
	l->ok &= items != NULL;
	if (!items)
		return;
	l->items = items;
	struct made item = {start, start + bytes, tw_name_table_text(l->t, name), (uint32_t)l->n};
	l->ok &= item.name != TW_NO_TEXT;
	l->items[l->n++] = item;
}

/* ---- perf-PID.map: START SIZE NAME, in hex ---- */

static void read_map(struct list *l, const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	while (f && l->ok && getline(&line, &room, f) > 0) {
		uint64_t start, bytes;
		int at = 0;
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &bytes, &at) == 2 && at && line[at])
			add(l, start, bytes, line + at);
	}
	free(line);
	if (f)
		fclose(f);
}

/* ---- jitdump (tools/perf/Documentation/jitdump-specification.txt) ---- */

#define DUMP_MAGIC 0x4a695444u
enum { DUMP_LOAD = 0, DUMP_MOVE = 1, DUMP_DEBUG = 2, DUMP_LARGEST = 64 << 20 };

struct dump_header {
	uint32_t magic, version, bytes, machine, padding, pid;
	uint64_t time, flags;
};

struct dump_record {
	uint32_t id, bytes; /* bytes: with this header */
	uint64_t time;
};

struct dump_load {
	uint32_t pid, tid;
	uint64_t vma, code, bytes, index;
	char name[];
};

struct dump_move {
	uint32_t pid, tid;
	uint64_t vma, from, to, bytes, index;
};

struct dump_debug {
	uint64_t code, n;
};

struct dump_line {
	uint64_t code;
	uint32_t line, discriminator;
	char file[];
};

static void take_load(struct list *l, const void *bytes, size_t n)
{
	const struct dump_load *load = bytes;
	if (n > sizeof *load && memchr(load->name, 0, n - sizeof *load))
		add(l, load->code, load->bytes, load->name);
}

/* Code moves: the newest function at its old address is now at another. */
static void take_move(struct list *l, const void *bytes, size_t n)
{
	const struct dump_move *move = bytes;
	for (size_t i = l->n; n >= sizeof *move && i-- > 0;) {
		if (l->items[i].start != move->from)
			continue;
		add(l, move->to, move->bytes, l->t->texts.items[l->items[i].name]);
		return;
	}
}

/* Lines of the function that is loaded next: each ends where the next begins. */
static void take_debug(struct list *l, const void *bytes, size_t n)
{
	const struct dump_debug *debug = bytes;
	const char *at = (const char *)(debug + 1), *end = (const char *)bytes + n;
	struct tw_name_line line = {0};
	for (uint64_t i = 0; n >= sizeof *debug && i < debug->n && l->ok; i++) {
		const struct dump_line *entry = (const void *)at;
		size_t left = (size_t)(end - at);
		const char *nul = left > sizeof *entry ? memchr(entry->file, 0, left - sizeof *entry) : NULL;
		if (!nul)
			return;
		uint64_t code;
		memcpy(&code, &entry->code, sizeof code);
		line.end = code;
		if (line.source != TW_NAME_NONE && line.start < line.end)
			l->ok &= tw_name_table_add(l->t, TW_NAME_LINES, &line);
		line.start = code;
		memcpy(&line.line, &entry->line, sizeof line.line);
		line.source = tw_name_table_text(l->t, entry->file);
		at = nul + 1;
	}
	line.end = line.start + 16; /* the last one's end is not told */
	if (line.line)
		l->ok &= tw_name_table_add(l->t, TW_NAME_LINES, &line);
}

static void read_dump(struct list *l, const char *path, uint32_t pid)
{
	FILE *f = fopen(path, "re");
	struct dump_header head;
	struct dump_record record;
	int ok =
	    f && fread(&head, sizeof head, 1, f) == 1 && head.magic == DUMP_MAGIC && head.pid == pid && !fseek(f, head.bytes, SEEK_SET);
	while (ok && l->ok && fread(&record, sizeof record, 1, f) == 1 && record.bytes >= sizeof record && record.bytes < DUMP_LARGEST) {
		size_t n = record.bytes - sizeof record;
		void *bytes = malloc(n + 1);
		ok = bytes && fread(bytes, 1, n, f) == n;
		if (ok && record.id == DUMP_LOAD)
			take_load(l, bytes, n);
		else if (ok && record.id == DUMP_MOVE)
			take_move(l, bytes, n);
		else if (ok && record.id == DUMP_DEBUG)
			take_debug(l, bytes, n);
		free(bytes);
	}
	if (f)
		fclose(f);
}

/* ---- the newest of those that ran ---- */

static int by_start(const void *a, const void *b)
{
	const struct made *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->age < y->age) - (x->age > y->age);
}

static void take_newest(struct list *l, const struct tw_ran_list *joined)
{
	if (l->n)
		qsort(l->items, l->n, sizeof *l->items, by_start);
	for (size_t i = 0; i < l->n && l->ok; i++) {
		const struct made *m = &l->items[i];
		struct tw_name_function item = {m->start, m->end, m->name, 0};
		if ((!i || l->items[i - 1].start != m->start) && tw_ran_any(joined, m->start, m->end))
			l->ok &= tw_name_table_add(l->t, TW_NAME_FUNCTIONS, &item);
	}
}

/* Writers of jitdump files map them, so they are among the modules. */
static void read_dumps(struct list *l, const struct tw_symbols *s, uint32_t pid)
{
	char path[4096], suffix[32];
	snprintf(suffix, sizeof suffix, "%u.dump", pid);
	for (size_t i = 0; tw_symbols_file(s, i) && l->ok; i++) {
		const char *file = tw_symbols_file(s, i), *name = tw_base_name(file);
		size_t n = strlen(name), tail = strlen(suffix);
		if (n > tail && !strcmp(name + n - tail, suffix) && tw_symbols_file_path(s, i, path))
			read_dump(l, path, pid);
	}
}

int tw_gather_made(const struct tw_symbols *s, const struct tw_ran_made *made, struct tw_name_table *out)
{
	struct list l = {.t = out, .ok = 1};
	struct tw_ran_list joined;
	char path[64];
	out->path = strdup("");
	out->pid = made->pid;
	out->why = TW_NAME_MADE;
	l.ok = out->path && tw_ran_join(&made->list, &joined);
	if (!l.ok)
		return 0;
	snprintf(path, sizeof path, "/tmp/perf-%u.map", made->pid);
	read_map(&l, path);
	read_dumps(&l, s, made->pid);
	take_newest(&l, &joined);
	out->has_lines = out->items[TW_NAME_LINES].n > 0;
	free(l.items);
	free(joined.pieces);
	return l.ok;
}
