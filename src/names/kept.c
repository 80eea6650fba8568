#include "names/kept.h"
#include "channel/machine.h"
#include "names/gather.h"
#include "recording/recording.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Header of a packed table. After it: its path, its arrays, and its texts, each text with a NUL; each padded with
 * zeros to a multiple of 8.
 */
struct packed_table {
	uint32_t pid, why, has_lines, n_texts;
	uint64_t path_bytes, text_bytes; /* with NULs, without padding */
	uint64_t n[TW_N_NAME_ARRAYS];
};

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* ---- columns ---- */

/*
 * Arrays are stored as columns of 32 bits, each number as the difference from the one above: since they are sorted,
 * they compress to a third of the bytes. `words`: of an item.
 */
static void to_columns(uint32_t *to, const uint32_t *items, size_t n, size_t words)
{
	for (size_t k = 0; k < words; k++)
		for (size_t i = 0; i < n; i++)
			*to++ = items[i * words + k] - (i ? items[(i - 1) * words + k] : 0);
}

static void from_columns(uint32_t *items, const uint32_t *from, size_t n, size_t words)
{
	for (size_t k = 0; k < words; k++)
		for (size_t i = 0; i < n; i++)
			items[i * words + k] = *from++ + (i ? items[(i - 1) * words + k] : 0);
}

/* ---- packing ---- */

static size_t text_bytes(const struct tw_name_table *t)
{
	size_t n = 0;
	for (uint32_t i = 0; i < t->texts.n; i++)
		n += strlen(t->texts.items[i]) + 1;
	return n;
}

uint8_t *tw_name_table_pack(const struct tw_name_table *t, size_t *n)
{
	struct packed_table head = {t->pid, t->why, t->has_lines, t->texts.n, strlen(t->path) + 1, text_bytes(t), {0}};
	*n = sizeof head + padded(head.path_bytes) + padded(head.text_bytes);
	for (int i = 0; i < TW_N_NAME_ARRAYS; i++) {
		head.n[i] = t->items[i].n;
		*n += t->items[i].n * tw_name_item_bytes((enum tw_name_array)i);
	}
	uint8_t *bytes = calloc(1, *n), *at = bytes;
	if (!bytes)
		return NULL;
	memcpy(at, &head, sizeof head);
	memcpy(at += sizeof head, t->path, head.path_bytes);
	at += padded(head.path_bytes);
	for (int i = 0; i < TW_N_NAME_ARRAYS; i++) {
		size_t bytes_each = tw_name_item_bytes((enum tw_name_array)i);
		to_columns((uint32_t *)at, t->items[i].at, t->items[i].n, bytes_each / sizeof(uint32_t));
		at += t->items[i].n * bytes_each;
	}
	for (uint32_t i = 0; i < t->texts.n; i++)
		at = (uint8_t *)stpcpy((char *)at, t->texts.items[i]) + 1;
	return bytes;
}

/* ---- unpacking ---- */

struct cursor {
	const uint8_t *at;
	size_t left;
};

/* The next n bytes; NULL: there are not so many. */
static const uint8_t *take(struct cursor *c, uint64_t n)
{
	const uint8_t *at = c->at;
	if (n > c->left || padded(n) > c->left)
		return NULL;
	c->at += padded(n);
	c->left -= padded(n);
	return at;
}

static int unpack_texts(struct tw_name_table *t, const char *at, uint64_t bytes, uint32_t n)
{
	const char *end = at + bytes;
	for (uint32_t i = 0; i < n; i++) {
		if (at >= end || !memchr(at, 0, (size_t)(end - at)))
			return TW_ERR_DAMAGED;
		uint32_t number = tw_name_table_text(t, at);
		if (number != i)
			return number == TW_NO_TEXT ? TW_ERR_MEMORY : TW_ERR_DAMAGED;
		at += strlen(at) + 1;
	}
	return 0;
}

static int unpack_array(struct tw_name_table *t, struct cursor *c, int array, uint64_t n)
{
	size_t bytes = tw_name_item_bytes((enum tw_name_array)array);
	const uint8_t *from = n <= c->left / bytes ? take(c, n * bytes) : NULL;
	if (!from)
		return TW_ERR_DAMAGED;
	t->items[array] = (struct tw_name_items){malloc(n * bytes + 1), (size_t)n, (size_t)n};
	if (!t->items[array].at)
		return TW_ERR_MEMORY;
	from_columns(t->items[array].at, (const uint32_t *)from, (size_t)n, bytes / sizeof(uint32_t));
	return 0;
}

/* Whether all numbers in it refer to existing texts and nodes. */
static int is_sound(const struct tw_name_table *t)
{
	const struct tw_name_function *f = t->items[TW_NAME_FUNCTIONS].at;
	const struct tw_name_line *line = t->items[TW_NAME_LINES].at;
	const struct tw_name_inlined *inlined = t->items[TW_NAME_INLINED].at;
	const struct tw_name_node *node = t->items[TW_NAME_NODES].at;
	const struct tw_name_object *object = t->items[TW_NAME_OBJECTS].at;
	int ok = t->why < TW_N_NAME_WHYS;
	for (size_t i = 0; i < t->items[TW_NAME_FUNCTIONS].n; i++)
		ok &= f[i].name < t->texts.n;
	for (size_t i = 0; i < t->items[TW_NAME_LINES].n; i++)
		ok &= line[i].source < t->texts.n;
	for (size_t i = 0; i < t->items[TW_NAME_INLINED].n; i++)
		ok &= inlined[i].node < t->items[TW_NAME_NODES].n;
	for (size_t i = 0; i < t->items[TW_NAME_NODES].n; i++)
		ok &= node[i].name < t->texts.n && (node[i].source < t->texts.n || node[i].source == TW_NAME_NONE) &&
		      (node[i].parent < i || node[i].parent == TW_NAME_NONE);
	for (size_t i = 0; i < t->items[TW_NAME_OBJECTS].n; i++)
		ok &= object[i].name < t->texts.n;
	return ok;
}

int tw_name_table_unpack(const uint8_t *bytes, size_t n, struct tw_name_table *out)
{
	struct cursor c = {bytes, n};
	struct packed_table head;
	const uint8_t *from = take(&c, sizeof head);
	if (!from)
		return TW_ERR_DAMAGED;
	memcpy(&head, from, sizeof head);
	out->pid = head.pid;
	out->why = head.why;
	out->has_lines = head.has_lines;
	const char *path = (const char *)take(&c, head.path_bytes);
	if (!path || !memchr(path, 0, head.path_bytes))
		return TW_ERR_DAMAGED;
	out->path = strdup(path);
	int error = out->path ? 0 : TW_ERR_MEMORY;
	for (int i = 0; i < TW_N_NAME_ARRAYS && !error; i++)
		error = unpack_array(out, &c, i, head.n[i]);
	const char *texts = error ? NULL : (const char *)take(&c, head.text_bytes);
	if (error || !texts)
		return error ? error : TW_ERR_DAMAGED;
	error = unpack_texts(out, texts, head.text_bytes, head.n_texts);
	return error || is_sound(out) ? error : TW_ERR_DAMAGED;
}

/* ---- keeping ---- */

/*
 * Names are stored at the end of each recording, however short: for a small table, setting up the compressor would
 * take longer than compressing.
 */
static int level_of(size_t n)
{
	enum { SMALL = 256 << 10 };
	return n < SMALL ? 1 : 3;
}

static int keep_table(struct tw_block_file *file, struct tw_name_table *t)
{
	size_t n;
	uint8_t *bytes = tw_name_table_pack(t, &n);
	int error = bytes ? tw_block_file_add(file, TW_BLOCK_NAMES, level_of(n), bytes, n) : TW_ERR_MEMORY;
	free(bytes);
	return error;
}

/* A file that is to be gathered. */
struct task {
	size_t file;
	off_t work; /* estimate of the work; 0: the store has it */
};

/* Shared by gathering threads: each takes the next task until there is none. */
struct gathering {
	struct tw_symbols *symbols;
	const struct tw_ran *ran;
	const struct tw_name_store *store;
	struct task *tasks;           /* the largest first */
	struct tw_name_table *tables; /* by file */
	_Atomic size_t next;
	_Atomic int failed; /* 1: there was no memory */
};

static void *gather(void *gathering)
{
	struct gathering *g = gathering;
	for (size_t i; (i = atomic_fetch_add(&g->next, 1)) < g->ran->n_files;) {
		const size_t file = g->tasks[i].file;
		if (!tw_gather_file(g->symbols, file, &g->ran->files[file], g->store, &g->tables[file]))
			atomic_store(&g->failed, 1);
	}
	return NULL;
}

static int by_work(const void *a, const void *b)
{
	const struct task *x = a, *y = b;
	if (x->work != y->work)
		return x->work > y->work ? -1 : 1;
	return (x->file > y->file) - (x->file < y->file);
}

/* Fills the tasks. Returns how many files have to be read. */
static unsigned list_tasks(const struct gathering *g)
{
	unsigned n = 0;
	for (size_t i = 0; i < g->ran->n_files; i++) {
		char path[4096];
		struct stat st;
		const int is_read = tw_symbols_file_path(g->symbols, i, path) && !stat(path, &st) && !tw_name_store_has(g->store, path);
		g->tasks[i] = (struct task){i, is_read ? st.st_size : 0};
		n += is_read && st.st_size;
	}
	qsort(g->tasks, g->ran->n_files, sizeof *g->tasks, by_work);
	return n;
}

/* With as many threads as there are processors and unread files. Without other threads, one does everything. */
static void gather_all(struct gathering *g)
{
	enum { MOST = 4 };
	const unsigned processors = tw_machine_processors(), files = list_tasks(g);
	pthread_t thread[MOST];
	unsigned n = 0;
	while (n + 1 < files && n + 1 < processors && n + 1 < MOST && !pthread_create(&thread[n], NULL, gather, g))
		n++;
	gather(g);
	while (n)
		pthread_join(thread[--n], NULL);
}

static int keep_files(struct tw_block_file *file, struct tw_symbols *s, const struct tw_ran *ran, const struct tw_name_store *store)
{
	struct gathering g = {.symbols = s, .ran = ran, .store = store};
	g.tasks = calloc(ran->n_files + 1, sizeof *g.tasks);
	g.tables = calloc(ran->n_files + 1, sizeof *g.tables);
	int error = g.tasks && g.tables ? TW_OK : TW_ERR_MEMORY;
	if (!error) {
		gather_all(&g);
		error = g.failed ? TW_ERR_MEMORY : TW_OK;
	}
	for (size_t i = 0; g.tables && i < ran->n_files; i++) {
		if (!error)
			error = keep_table(file, &g.tables[i]);
		tw_name_table_free(&g.tables[i]);
	}
	free(g.tasks);
	free(g.tables);
	return error;
}

static int keep_made(struct tw_block_file *file, const struct tw_symbols *s, const struct tw_ran_made *made)
{
	struct tw_name_table t = {0};
	int error = tw_gather_made(s, made, &t) ? keep_table(file, &t) : TW_ERR_MEMORY;
	tw_name_table_free(&t);
	return error;
}

static int keep_all(struct tw_block_file *file, struct tw_symbols *s, const struct tw_name_store *store)
{
	struct tw_ran ran;
	int error = tw_ran_find(tw_symbols_places(s), NULL, 0, &ran) ? 0 : TW_ERR_MEMORY;
	if (!error)
		error = keep_files(file, s, &ran, store);
	for (size_t i = 0; !error && i < ran.n_made; i++)
		error = keep_made(file, s, &ran.made[i]);
	tw_ran_free(&ran);
	return error;
}

int tw_names_keep_of(const struct tw_recording *r, const struct tw_name_store *store, struct tw_ahead *ahead)
{
	struct tw_block_file *file = NULL;
	struct tw_symbols *s = tw_symbols_new(r);
	int error = s ? tw_block_file_create(r, TW_NAMES_FILE, &file) : TW_ERR_MEMORY;
	if (!error) {
		tw_symbols_use(s, ahead);
		error = keep_all(file, s, store);
		int closing = tw_block_file_close(file, error);
		error = error ? error : closing;
	}
	tw_symbols_free(s);
	return error;
}

int tw_names_keep(const char *dir, const struct tw_name_store *store, struct tw_ahead *ahead)
{
	struct tw_recording *r;
	int error = tw_recording_open(dir, &r);
	if (error)
		return error;
	error = tw_names_keep_of(r, store, ahead);
	tw_recording_close(r);
	return error;
}
