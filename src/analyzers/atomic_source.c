#include "analyzers/atomic_source.h"
#include "base/array.h"
#include "base/text.h"
#include <trackway/recording.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 128, STATEMENT = 2000, MOST_LINES = 6, MOST_FILES = 4000, MOST_BYTES = 16 << 20 };

enum language { C_OR_CXX, GO, RUST };

struct tw_source_file {
	char *path;     /* as the names have it, or where an include leads */
	char *text;     /* NULL: it cannot be read */
	char *declared; /* atomic names declared by it or by what it includes, and atomic macros, each between newlines; NULL: none */
	size_t n_declared, declared_room;
	enum language language; /* Go: statements end with their lines; inlined code may have the line of its caller */
	int none;               /* nothing in it is atomic */
};

/* ---- text ---- */

static int is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The first word of the text that starts with `word`, or equals it if `whole`; NULL: none. */
static const char *find_word(const char *text, const char *word, int whole)
{
	const size_t n = strlen(word);
	for (const char *p = text; (p = strstr(p, word)); p++)
		if ((p == text || !is_word(p[-1])) && (!whole || !is_word(p[n])))
			return p;
	return NULL;
}

static const char *line_at(const char *text, unsigned line)
{
	while (text && line-- > 1) {
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return text;
}

static const char *line_before(const char *text, const char *line)
{
	if (line == text)
		return NULL;
	for (line--; line > text && line[-1] != '\n';)
		line--;
	return line;
}

static size_t length(const char *line)
{
	return strcspn(line, "\n");
}

/* Does a statement end with this line? */
static int ends_statement(const char *line)
{
	size_t n = length(line);
	while (n && isspace((unsigned char)line[n - 1]))
		n--;
	return !n || strchr(";{}", line[n - 1]) || line[0] == '#' || line[strspn(line, " \t")] == '#' ||
	       (n > 1 && line[n - 1] == '/' && line[n - 2] == '*');
}

/* Copies this many bytes of the text, or as many as fit. */
static void copy_bytes(const char *from, size_t n, char to[STATEMENT])
{
	n = n < STATEMENT - 1 ? n : STATEMENT - 1;
	memcpy(to, from, n);
	to[n] = 0;
}

/* The lines of the statement that contains the line, in one text; and its start. */
static const char *copy_statement(const char *text, const char *line, char *to)
{
	const char *from = line, *before, *last = line;
	for (unsigned k = 0; k < MOST_LINES && (before = line_before(text, from)) && !ends_statement(before); k++)
		from = before;
	for (unsigned k = 0; k < MOST_LINES && !ends_statement(last) && last[length(last)]; k++)
		last += length(last) + 1;
	copy_bytes(from, (size_t)(last - from) + length(last), to);
	return from;
}

/* The line alone. */
static const char *copy_line(const char *line, char *to)
{
	copy_bytes(line, length(line), to);
	return line;
}

/* Of several statements, keeps those that use the object, if there are any. */
static void keep_those_of(const char *object, char *text)
{
	char kept[STATEMENT];
	size_t n = 0;
	for (char *p = text; *p;) {
		const size_t bytes = strcspn(p, ";{}") + (p[strcspn(p, ";{}")] != 0);
		char one[STATEMENT];
		memcpy(one, p, bytes);
		one[bytes] = 0;
		if (find_word(one, object, 1)) {
			memcpy(kept + n, one, bytes);
			n += bytes;
		}
		p += bytes;
	}
	kept[n] = 0;
	if (n)
		memcpy(text, kept, n + 1);
}

/* ---- what declarations say ---- */

/* End of an atomic type in the line; NULL: there is none. */
static const char *atomic_type(const char *line)
{
	static const char *const types[] = {"_Atomic", "atomic<", "atomic_", NULL};
	for (const char *const *t = types; *t; t++) {
		const char *p = find_word(line, *t, 0);
		if (!p)
			continue;
		p += strlen(*t);
		while (is_word(*p))
			p++;
		if (**t != 'a' || (*t)[6] == '<' || *p == ' ' || *p == '\t') /* atomic_int x, and not atomic_load(&x) */
			return p;
	}
	return NULL;
}

static int is_type(const char *word, size_t n)
{
	static const char *const types[] = {"int",   "long",     "unsigned", "char",   "short",  "bool",  "void",
	                                    "const", "volatile", "size_t",   "struct", "signed", "_Bool", NULL};
	for (const char *const *t = types; *t; t++)
		if (strlen(*t) == n && !memcmp(*t, word, n))
			return 1;
	return 0;
}

/* Is the name, `bytes` long, in a list of names between newlines? */
static int is_listed(const char *list, const char *word, size_t bytes)
{
	char name[NAME + 2] = "\n";
	if (!list || bytes >= NAME)
		return 0;
	memcpy(name + 1, word, bytes);
	name[bytes + 1] = '\n';
	name[bytes + 2 < sizeof name ? bytes + 2 : sizeof name - 1] = 0;
	return strstr(list, name) != NULL;
}

/* Adds a name to what the file declares atomic. */
static int declare(struct tw_source_file *f, const char *word, size_t bytes)
{
	if (is_listed(f->declared, word, bytes))
		return 0;
	char *more = tw_array_room(f->declared, f->n_declared + bytes + 3, &f->declared_room, 1);
	if (!more)
		return TW_ERR_MEMORY;
	f->declared = more;
	if (!f->n_declared)
		more[f->n_declared++] = '\n';
	memcpy(more + f->n_declared, word, bytes);
	f->n_declared += bytes;
	more[f->n_declared++] = '\n';
	more[f->n_declared] = 0;
	return 0;
}

static size_t word_length(const char *p)
{
	size_t n = 0;
	while (is_word(p[n]))
		n++;
	return n;
}

/* Adds the names that a declaration declares, from behind its type on. */
static int declare_variables(struct tw_source_file *f, const char *p)
{
	int error = 0;
	while (*p && *p != ';' && !error) {
		const size_t bytes = word_length(p);
		const char *after = p + bytes + strspn(p + bytes, " \t");
		if (bytes && bytes < NAME && strchr(";,=[{()", *after) && *after && !isdigit((unsigned char)*p) && !is_type(p, bytes))
			error = declare(f, p, bytes);
		p += bytes ? bytes : 1;
	}
	return error;
}

/* Does the statement use one of these? */
static int uses_atomic(const char *declared, const char *statement)
{
	for (const char *p = statement; *p && declared;) {
		const size_t n = word_length(p);
		if (n && !isdigit((unsigned char)*p) && is_listed(declared, p, n))
			return 1;
		p += n ? n : 1;
	}
	return 0;
}

/* ---- what statements say ---- */

int tw_atomic_source_is_operation(const char *word, size_t bytes)
{
	static const char *const operations[] = {"get",  "set",  "load",  "store", "read", "write", "add",  "inc",
	                                         "dec",  "sub",  "fetch", "cas",   "cmp",  "comp",  "exch", "swap",
	                                         "xchg", "test", "or",    "and",   "init", "clear", NULL};
	char name[NAME];
	if (bytes >= NAME)
		return 0;
	for (size_t i = 0; i < bytes; i++)
		name[i] = (char)tolower((unsigned char)word[i]);
	name[bytes] = 0;
	const char *what = strstr(name, "atomic");
	for (const char *const *o = operations; what && *o; o++)
		if (strstr(what + strlen("atomic"), *o))
			return 1;
	return 0;
}

/* A call of a function named like an atomic operation: g_atomic_int_get(, uatomic_read(, atomicGet(. */
static int calls_atomic(const char *statement)
{
	for (const char *p = statement; *p;) {
		const size_t n = word_length(p);
		if (n && p[n + strspn(p + n, " \t")] == '(' && tw_atomic_source_is_operation(p, n))
			return 1;
		p += n ? n : 1;
	}
	return 0;
}

static int names_operation(const char *statement)
{
	static const char *const words[] = {
	    "atomic_",     "__atomic_",        "__sync_",           "__c11_atomic_",   "ATOMIC_",
	    "READ_ONCE",   "WRITE_ONCE",       "ACCESS_ONCE",       "CMM_LOAD_SHARED", "CMM_STORE_SHARED",
	    "ck_pr_",      "smp_load_acquire", "smp_store_release", "rcu_dereference", "rcu_assign_pointer",
	    "atomic.Load", "atomic.Store",     "atomic.Add",        "atomic.Swap",     "atomic.CompareAndSwap",
	    NULL};
	for (const char *const *w = words; *w; w++)
		if (find_word(statement, *w, 0))
			return 1;
	return calls_atomic(statement);
}

static int names_atomic(const char *statement)
{
	static const char *const members[] = {".load(", ".store(", "->load(", "->store(", NULL};
	for (const char *const *m = members; *m; m++)
		if (strstr(statement, *m))
			return 1;
	return find_word(statement, "__asm__", 0) || find_word(statement, "asm", 0) || find_word(statement, "__asm", 0) ||
	       names_operation(statement);
}

static int is_relaxed(const char *statement)
{
	static const char *const orders[] = {"acq", "release", "seq_cst", "ACQ", "RELEASE", "SEQ_CST", "Acq", "Release", "SeqCst", NULL};
	for (const char *const *o = orders; *o; o++)
		if (strstr(statement, *o))
			return 0;
	return strstr(statement, "relaxed") || strstr(statement, "RELAXED") || strstr(statement, "Relaxed");
}

/*
 * Is there a fence or a flush in the enclosing function? Then relaxed accesses in it may order. Functions end at a
 * line that starts with a brace.
 */
static int is_fenced(const char *text, const char *line)
{
	const char *from = line, *to = strstr(line, "\n}");
	while (from > text && !(from[-1] == '\n' && *from == '}'))
		from--;
	static const char *const words[] = {"thread_fence", "__sync_synchronize", "omp flush", " fence(", ":fence(", NULL};
	for (const char *const *w = words; *w; w++) {
		const char *fence = strstr(from, *w);
		if (fence && (!to || fence < to))
			return 1;
	}
	return 0;
}

static int goes_on(const char *line)
{
	const size_t n = length(line);
	return n && line[n - 1] == '\\' && line[n];
}

/* The first line of the directive that contains the line; NULL: none does. */
static const char *directive_of(const char *text, const char *line)
{
	for (const char *before; line && (before = line_before(text, line)) && goes_on(before);)
		line = before;
	const char *begins = line ? line + strspn(line, " \t") : "";
	return *begins == '#' || !strncmp(begins, "_Pragma", 7) ? line : NULL;
}

/* The previous line that is not empty, and does more than open a block; NULL: there is none. */
static const char *line_that_precedes(const char *text, const char *line)
{
	do
		line = line_before(text, line);
	while (line && (!length(line) || line[strspn(line, " \t")] == '{'));
	return line;
}

/* The line, and those that it goes on to, in one line. */
static void copy_joined(const char *line, char to[STATEMENT])
{
	size_t n = 0;
	for (int more = 1; more; line += length(line) + 1) {
		const size_t bytes = length(line) < STATEMENT - n - 1 ? length(line) : STATEMENT - n - 1;
		memcpy(to + n, line, bytes);
		n += bytes;
		more = goes_on(line);
	}
	to[n] = 0;
}

/* The OpenMP directive that contains the line, or the one directly above it, in one line; "": there is none. */
static void copy_pragma(const char *text, const char *line, char to[STATEMENT])
{
	const char *own = directive_of(text, line), *from = own ? own : directive_of(text, line_that_precedes(text, line));
	copy_joined(from ? from : "", to);
	if (!strstr(to, "omp"))
		*to = 0;
}

/*
 * Is it under `#pragma omp atomic`, or is it that itself? Then 1, or 2 if it orders: it says so, or the enclosing
 * function has a flush or fence, which may.
 */
static int under_pragma(const char *text, const char *statement)
{
	static const char *const orders[] = {"seq_cst", "acquire", "release", "acq_rel", NULL};
	char pragma[STATEMENT];
	copy_pragma(text, statement, pragma);
	if (!find_word(pragma, "atomic", 1))
		return 0;
	for (const char *const *o = orders; *o; o++)
		if (find_word(pragma, *o, 1))
			return 2;
	return is_fenced(text, statement) ? 2 : 1;
}

/* Is it at a pragma with a reduction? gcc combines the threads' results by atomic operations, whose line is the pragma's or the next. */
static int is_at_reduction(const char *text, const char *line)
{
	char pragma[STATEMENT];
	copy_pragma(text, line, pragma);
	return strstr(pragma, "reduction") != NULL;
}

/* How many words of the text begin so. */
static unsigned count_words(const char *text, const char *const *words)
{
	unsigned n = 0;
	for (; *words; words++)
		for (const char *p = text; (p = strstr(p, *words)); p++)
			n += p == text || !isalnum((unsigned char)p[-1]);
	return n;
}

/* Words that name orders. */
struct order_words {
	const char *const acquires[4], *const releases[4], *const relaxed[4], *const all[6];
};

static const struct order_words *order_words_of(enum language language)
{
	static const struct order_words c = {{"memory_order_acquire", "memory_order::acquire", "ATOMIC_ACQUIRE", NULL},
	                                     {"memory_order_release", "memory_order::release", "ATOMIC_RELEASE", NULL},
	                                     {"memory_order_relaxed", "memory_order::relaxed", "ATOMIC_RELAXED", NULL},
	                                     {"memory_order_", "memory_order::", "__ATOMIC_", NULL}};
	static const struct order_words rust = {
	    {"Acquire", NULL}, {"Release", NULL}, {"Relaxed", NULL}, {"Acquire", "Release", "AcqRel", "SeqCst", "Relaxed", NULL}};
	return language == RUST ? &rust : &c;
}

/* What the only atomic operation of a statement that both reads and writes lacks, by the order that it names. 0 if not certain. */
static uint8_t lacks_of(enum language language, const char *statement)
{
	static const char *const at_once[] = {"fetch_", "exchange", "test_and_set", NULL}, *const rust_at_once[] = {
	                                                                                       "fetch_", "compare_exchange", "swap", NULL};
	static const char *const others[] = {"load", "store", "clear", "__sync", NULL};
	const struct order_words *words = order_words_of(language);
	const unsigned gets = count_words(statement, words->acquires), gives = count_words(statement, words->releases);
	const char *end = strchr(statement, ';');
	if (count_words(statement, language == RUST ? rust_at_once : at_once) != 1 || count_words(statement, others) || !gets == !gives ||
	    gets + gives + count_words(statement, words->relaxed) != count_words(statement, words->all) || (end && strchr(end + 1, ';')))
		return 0;
	for (const char *p = statement; language != RUST && (p = strpbrk(p, "+-|&^")); p++) /* a = a + x may be atomic, too */
		if (p[1] == '=' || ((*p == '+' || *p == '-') && p[1] == *p))
			return 0;
	return gets ? TW_ATOMIC_NO_RELEASE : TW_ATOMIC_NO_ACQUIRE;
}

/* What a line of a file says; of a line of several statements, the ones that use `object`, if there are such (NULL: all). */
static enum tw_atomic_kind judge_line(const struct tw_source_file *f, unsigned line, const char *object)
{
	char statement[STATEMENT];
	const char *text = f->text, *at = line ? line_at(text, line) : NULL;
	if (!at)
		return TW_ATOMIC_UNKNOWN;
	const char *from = f->language == GO ? copy_line(at, statement) : copy_statement(text, at, statement);
	const int pragma = under_pragma(text, from);
	if (object)
		keep_those_of(object, statement);
	if (is_at_reduction(text, at) || is_at_reduction(text, from))
		return TW_ATOMIC_RELAXED;
	if (pragma)
		return pragma == 1 ? TW_ATOMIC_RELAXED : TW_ATOMIC_ORDERS;
	if (names_atomic(statement) || uses_atomic(f->declared, statement))
		return is_relaxed(statement) && !is_fenced(text, at) ? TW_ATOMIC_RELAXED : TW_ATOMIC_ORDERS;
	return TW_ATOMIC_EXPRESSLY_PLAIN;
}

/* ---- files ---- */

/* The word behind #NAME; NULL: the line is no such directive. */
static const char *behind_directive(const char *line, const char *name)
{
	line += strspn(line, " \t");
	if (*line != '#')
		return NULL;
	line += 1 + strspn(line + 1, " \t");
	const size_t n = strlen(name);
	return !strncmp(line, name, n) && !is_word(line[n]) ? line + n + strspn(line + n, " \t") : NULL;
}

/* A macro that makes an atomic operation is one itself. */
static int declare_macro(struct tw_source_file *f, const char *line)
{
	char text[STATEMENT];
	copy_joined(line, text);
	const char *name = behind_directive(text, "define");
	const size_t bytes = name ? word_length(name) : 0;
	if (!bytes || name[bytes] != '(' || bytes >= NAME)
		return 0;
	return names_operation(name + bytes) || uses_atomic(f->declared, name + bytes) ? declare(f, name, bytes) : 0;
}

static struct tw_source_file *file_of(struct tw_atomic_source *s, const char *path);

/* A file included by "NAME": next to it, or in that directory or include/ of a folder above. */
static struct tw_source_file *included(struct tw_atomic_source *s, const char *from, const char *name, size_t bytes)
{
	enum { ABOVE = 4 };
	char path[4096];
	const char *slash = strrchr(from, '/');
	size_t folder = slash ? (size_t)(slash - from) : 0;
	for (unsigned k = 0; slash && k < ABOVE && folder; k++) {
		for (unsigned i = 0; i < 2; i++) {
			const int n = snprintf(path, sizeof path, "%.*s/%s%.*s", (int)folder, from, i ? "include/" : "", (int)bytes, name);
			if (n > 0 && (size_t)n < sizeof path && !access(path, R_OK))
				return file_of(s, path);
		}
		while (folder && from[--folder] != '/')
			;
	}
	return NULL;
}

/* What an included file declares is declared in this one. */
static int declare_included(struct tw_atomic_source *s, struct tw_source_file *f, const char *line)
{
	const char *name = behind_directive(line, "include");
	if (!name || *name != '"')
		return 0;
	const struct tw_source_file *of = included(s, f->path, name + 1, strcspn(name + 1, "\"\n"));
	int error = 0;
	for (const char *p = of && of != f && of->declared ? of->declared + 1 : ""; *p && !error; p += strcspn(p, "\n") + 1)
		error = declare(f, p, strcspn(p, "\n"));
	return error;
}

/* Lists what is atomic in the file and its includes. A file that includes itself is listed as far as it has been read. */
static void list_declared(struct tw_atomic_source *s, struct tw_source_file *f)
{
	char line[STATEMENT];
	for (const char *p = f->text; *p; p += length(p) + (p[length(p)] == '\n')) {
		copy_line(p, line);
		const char *declared = atomic_type(line);
		int error = declared ? declare_variables(f, declared) : 0;
		if (!error && f->language == C_OR_CXX && line[strspn(line, " \t")] == '#') {
			error = declare_included(s, f, line);
			error = error ? error : declare_macro(f, p);
		}
		if (error)
			return;
	}
}

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t n = 0, room = 0;
	for (int c; f && n < MOST_BYTES && (c = getc_unlocked(f)) != EOF;) {
		char *more = tw_array_room(text, n + 1, &room, 1);
		if (!more)
			break;
		text = more;
		text[n++] = c ? (char)c : ' ';
		text[n] = 0;
	}
	if (f)
		fclose(f);
	return text;
}

static int has_none(const char *text)
{
	static const char *const words[] = {"tomic",   "ATOMIC", "__sync", "reduction", "asm",    "_ONCE",    "load(", "store(",
	                                    "_SHARED", "ck_pr_", "smp_",   "rcu_",      "elaxed", "Ordering", NULL};
	for (const char *const *w = words; *w; w++)
		if (strstr(text, *w))
			return 0;
	return 1;
}

static enum language language_of(const char *path)
{
	return tw_has_suffix(path, ".go") ? GO : tw_has_suffix(path, ".rs") ? RUST : C_OR_CXX;
}

static struct tw_source_file *new_file(struct tw_atomic_source *s, const char *path)
{
	struct tw_source_file **files = s->n_files < MOST_FILES ? tw_array_room(s->files, s->n_files, &s->files_room, sizeof *files) : NULL;
	struct tw_source_file *f = files ? calloc(1, sizeof *f) : NULL;
	s->files = files ? files : s->files;
	if (f)
		f->path = strdup(path);
	if (!f || !f->path) {
		free(f);
		return NULL;
	}
	return s->files[s->n_files++] = f;
}

/* NULL: no memory, or there are too many. */
static struct tw_source_file *file_of(struct tw_atomic_source *s, const char *path)
{
	if (s->last && !strcmp(s->last->path, path))
		return s->last;
	for (size_t i = 0; i < s->n_files; i++)
		if (!strcmp(s->files[i]->path, path))
			return s->last = s->files[i];
	struct tw_source_file *f = new_file(s, path);
	if (!f)
		return NULL;
	f->language = language_of(path);
	f->text = read_text(path);
	if (f->text)
		list_declared(s, f);
	f->none = f->text && !f->declared && has_none(f->text);
	return f;
}

enum tw_atomic_kind tw_atomic_source_kind(struct tw_atomic_source *s, const char *path, unsigned line, const char *object)
{
	const struct tw_source_file *f = path ? file_of(s, path) : NULL;
	if (!f || !f->text || !line)
		return TW_ATOMIC_UNKNOWN;
	const enum tw_atomic_kind kind = f->none ? TW_ATOMIC_EXPRESSLY_PLAIN : judge_line(f, line, object);
	return kind == TW_ATOMIC_EXPRESSLY_PLAIN && f->language == GO ? TW_ATOMIC_UNKNOWN : kind;
}

uint8_t tw_atomic_source_lacks(struct tw_atomic_source *s, const char *path, unsigned line)
{
	char statement[STATEMENT];
	const struct tw_source_file *f = path ? file_of(s, path) : NULL;
	const char *at = f && f->text && line ? line_at(f->text, line) : NULL;
	if (!at || strstr(f->text, "thread_fence") || strstr(f->text, "__sync_synchronize") ||
	    (f->language == RUST && find_word(f->text, "fence(", 0)))
		return 0;
	copy_statement(f->text, at, statement);
	return lacks_of(f->language, statement);
}

int tw_atomic_source_reduces(struct tw_atomic_source *s, const char *path, unsigned line)
{
	const struct tw_source_file *f = path ? file_of(s, path) : NULL;
	const char *at = f && f->text && line ? line_at(f->text, line) : NULL;
	return at && is_at_reduction(f->text, at);
}

void tw_atomic_source_free(struct tw_atomic_source *s)
{
	for (size_t i = 0; i < s->n_files; i++) {
		free(s->files[i]->text), free(s->files[i]->declared), free(s->files[i]->path);
		free(s->files[i]);
	}
	free(s->files);
	*s = (struct tw_atomic_source){0};
}
