#include "analyzers/atomics.h"
#include "base/array.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 128, STATEMENT = 2000, MOST_LINES = 6 };

struct tw_source_file {
	const char *path; /* as the names have it */
	char *text;       /* NULL: it cannot be read */
	char *declared;   /* names that it declares atomic, each between newlines; NULL: none */
	int none;         /* nothing in it is atomic */
	int is_go;        /* statements end with their lines; what is inlined may have the line of its caller */
};

/* ---- text ---- */

static int is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The first word of the text that begins so, or is so where `whole`; NULL: none. */
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

/* So many bytes of the text, or as many as there is room for. */
static void copy_bytes(const char *from, size_t n, char to[STATEMENT])
{
	n = n < STATEMENT - 1 ? n : STATEMENT - 1;
	memcpy(to, from, n);
	to[n] = 0;
}

/* The lines of the statement that the line is part of, in one text; and where it begins. */
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

/* Of several statements, keeps those that use the object, if there are such. */
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

/* Where in the line a type that is atomic ends; NULL: there is none. */
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

/* Adds the names that a declaration declares to the list, each between newlines. */
static int add_declared(const char *p, char **list, size_t *n, size_t *room)
{
	while (*p && *p != ';') {
		size_t bytes = 0;
		while (is_word(p[bytes]))
			bytes++;
		const char *after = p + bytes + strspn(p + bytes, " \t");
		if (bytes && bytes < NAME && strchr(";,=[{()", *after) && *after && !isdigit((unsigned char)*p) && !is_type(p, bytes)) {
			char *more = tw_array_room(*list, *n + bytes + 2, room, 1);
			if (!more)
				return TW_ERR_MEMORY;
			*list = more;
			memcpy(more + *n, p, bytes);
			*n += bytes;
			more[(*n)++] = '\n';
			more[*n] = 0;
		}
		p += bytes ? bytes : 1;
	}
	return 0;
}

/* The names that a text declares atomic, each between newlines; NULL: there are none. */
static char *list_declared(const char *text)
{
	char line[STATEMENT], *list = NULL;
	size_t n = 0, room = 0;
	for (const char *p = text; *p; p += length(p) + (p[length(p)] == '\n')) {
		copy_line(p, line);
		const char *declared = atomic_type(line);
		if (!declared)
			continue;
		if (!list) {
			list = tw_array_room(NULL, 1, &room, 1);
			if (!list)
				return NULL;
			list[n++] = '\n';
			list[n] = 0;
		}
		if (add_declared(declared, &list, &n, &room))
			break;
	}
	return list;
}

/* Does the statement use one of these? */
static int uses_atomic(const char *declared, const char *statement)
{
	char name[NAME + 2] = "\n";
	for (const char *p = statement; *p && declared;) {
		size_t n = 0;
		while (is_word(p[n]))
			n++;
		if (n && n < NAME && !isdigit((unsigned char)*p)) {
			memcpy(name + 1, p, n);
			name[n + 1] = '\n';
			name[n + 2 < sizeof name ? n + 2 : sizeof name - 1] = 0;
			if (strstr(declared, name))
				return 1;
		}
		p += n ? n : 1;
	}
	return 0;
}

/* ---- what statements say ---- */

static int names_atomic(const char *statement)
{
	static const char *const words[] = {"atomic_",     "__atomic_",    "__sync_",    "__c11_atomic_", "ATOMIC_",
	                                    "__asm__",     "asm",          "__asm",      "READ_ONCE",     "WRITE_ONCE",
	                                    "atomic.Load", "atomic.Store", "atomic.Add", "atomic.Swap",   "atomic.CompareAndSwap",
	                                    NULL};
	for (const char *const *w = words; *w; w++)
		if (find_word(statement, *w, 0))
			return 1;
	return strstr(statement, ".load(") || strstr(statement, ".store(") || strstr(statement, "->load(") || strstr(statement, "->store(");
}

static int is_relaxed(const char *statement)
{
	static const char *const orders[] = {"acq", "release", "seq_cst", "ACQ", "RELEASE", "SEQ_CST", NULL};
	for (const char *const *o = orders; *o; o++)
		if (strstr(statement, *o))
			return 0;
	return strstr(statement, "relaxed") || strstr(statement, "RELAXED");
}

/* Is there a fence or a flush in the function around? What is relaxed in it may order by that. Functions end where a line begins with a brace. */
static int is_fenced(const char *text, const char *line)
{
	const char *from = line, *to = strstr(line, "\n}");
	while (from > text && !(from[-1] == '\n' && *from == '}'))
		from--;
	static const char *const words[] = {"thread_fence", "__sync_synchronize", "omp flush", NULL};
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

/* The first line of the directive that the line is part of; NULL: it is part of none. */
static const char *directive_of(const char *text, const char *line)
{
	for (const char *before; line && (before = line_before(text, line)) && goes_on(before);)
		line = before;
	const char *begins = line ? line + strspn(line, " \t") : "";
	return *begins == '#' || !strncmp(begins, "_Pragma", 7) ? line : NULL;
}

/* The line before that is not empty, nor only opens a block; NULL: there is none. */
static const char *line_that_precedes(const char *text, const char *line)
{
	do
		line = line_before(text, line);
	while (line && (!length(line) || line[strspn(line, " \t")] == '{'));
	return line;
}

/* The directive of OpenMP that the line is part of, or else the one right above it, in one line; "": there is none. */
static void copy_pragma(const char *text, const char *line, char to[STATEMENT])
{
	const char *own = directive_of(text, line), *from = own ? own : directive_of(text, line_that_precedes(text, line));
	size_t n = 0;
	for (int more = from != NULL; more; from += length(from) + 1) {
		const size_t bytes = length(from) < STATEMENT - n - 1 ? length(from) : STATEMENT - n - 1;
		memcpy(to + n, from, bytes);
		n += bytes;
		more = goes_on(from);
	}
	to[n] = 0;
	if (!strstr(to, "omp"))
		*to = 0;
}

/* Under `#pragma omp atomic`, or that itself? Then 1, or 2 where it orders: it says so, or the function around has a flush or fence, which may. */
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

/* At a pragma that reduces? gcc adds up what the threads have by atomic operations, whose line is the pragma's or that right below. */
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

/* What the only atomic operation of a statement that reads and writes at once lacks, by the order that it names. 0 where that is not sure. */
static uint8_t lacks_of(const char *statement)
{
	static const char *const acquires[] = {"memory_order_acquire", "memory_order::acquire", "ATOMIC_ACQUIRE", NULL};
	static const char *const releases[] = {"memory_order_release", "memory_order::release", "ATOMIC_RELEASE", NULL};
	static const char *const relaxed[] = {"memory_order_relaxed", "memory_order::relaxed", "ATOMIC_RELAXED", NULL};
	static const char *const orders[] = {"memory_order_", "memory_order::", "__ATOMIC_", NULL};
	static const char *const at_once[] = {"fetch_", "exchange", "test_and_set", NULL};
	static const char *const others[] = {"load", "store", "clear", "__sync", NULL};
	const unsigned gets = count_words(statement, acquires), gives = count_words(statement, releases);
	const char *end = strchr(statement, ';');
	if (count_words(statement, at_once) != 1 || count_words(statement, others) || !gets == !gives ||
	    gets + gives + count_words(statement, relaxed) != count_words(statement, orders) || (end && strchr(end + 1, ';')))
		return 0;
	for (const char *p = statement; (p = strpbrk(p, "+-|&^")); p++) /* a = a + x may be atomic, too */
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
	const char *from = f->is_go ? copy_line(at, statement) : copy_statement(text, at, statement);
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

static char *read_text(const char *path)
{
	enum { MOST = 16 << 20 };
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t n = 0, room = 0;
	for (int c; f && n < MOST && (c = getc(f)) != EOF;) {
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
	return !strstr(text, "atomic") && !strstr(text, "Atomic") && !strstr(text, "ATOMIC") && !strstr(text, "__sync") &&
	       !strstr(text, "reduction") && !strstr(text, "asm") && !strstr(text, "_ONCE") && !strstr(text, "load(");
}

static const struct tw_source_file *file_of(struct tw_atomics *a, const char *path)
{
	for (size_t i = 0; i < a->n_files; i++)
		if (!strcmp(a->files[i].path, path))
			return &a->files[i];
	struct tw_source_file *files = tw_array_room(a->files, a->n_files, &a->files_room, sizeof *files);
	if (!files)
		return NULL;
	a->files = files;
	struct tw_source_file *f = &files[a->n_files++];
	*f = (struct tw_source_file){.path = path, .text = read_text(path)};
	f->none = f->text && has_none(f->text);
	f->is_go = tw_has_suffix(path, ".go");
	f->declared = f->text && !f->none ? list_declared(f->text) : NULL;
	return f;
}

/* What a line of a file says. */
static enum tw_atomic_kind judge_place(struct tw_atomics *a, const char *path, unsigned line, const char *object)
{
	const struct tw_source_file *f = path ? file_of(a, path) : NULL;
	if (!f || !f->text || !line)
		return TW_ATOMIC_UNKNOWN;
	const enum tw_atomic_kind kind = f->none ? TW_ATOMIC_EXPRESSLY_PLAIN : judge_line(f, line, object);
	return kind == TW_ATOMIC_EXPRESSLY_PLAIN && f->is_go ? TW_ATOMIC_UNKNOWN : kind;
}

/* What the instruction that a line makes, which reads and writes at once, lacks. */
static uint8_t judge_half(struct tw_atomics *a, const char *path, unsigned line)
{
	char statement[STATEMENT];
	const struct tw_source_file *f = path ? file_of(a, path) : NULL;
	const char *at = f && f->text && line ? line_at(f->text, line) : NULL;
	if (!at || strstr(f->text, "thread_fence") || strstr(f->text, "__sync_synchronize"))
		return 0;
	copy_statement(f->text, at, statement);
	return lacks_of(statement);
}

/* ---- instructions ---- */

/* Where the opcode is, behind prefixes. *locked: lock is one of them. */
static unsigned opcode_at(const uint8_t *code, unsigned bytes, int *locked)
{
	unsigned i = 0;
	*locked = 0;
	for (; i < bytes && (code[i] == 0xf0 || code[i] == 0xf2 || code[i] == 0xf3 || code[i] == 0x66 || code[i] == 0x67 ||
	                     code[i] == 0x2e || code[i] == 0x3e || code[i] == 0x64 || code[i] == 0x65);
	     i++)
		*locked |= code[i] == 0xf0;
	return i + (i < bytes && code[i] >= 0x40 && code[i] <= 0x4f);
}

static int is_locked(const uint8_t *code, unsigned bytes)
{
	int locked;
	const unsigned i = opcode_at(code, bytes, &locked);
	return locked || (i + 1 < bytes && (code[i] == 0x86 || code[i] == 0x87) && code[i + 1] >> 6 != 3);
}

/* Does it push or pop, call or return? What stands in the source is about other accesses then. */
static int is_of_stack(const uint8_t *code, unsigned bytes)
{
	int locked;
	const unsigned i = opcode_at(code, bytes, &locked);
	if (i >= bytes)
		return 0;
	const uint8_t op = code[i], of_ff = op == 0xff && i + 1 < bytes ? code[i + 1] >> 3 & 7 : 0;
	return (op >= 0x50 && op <= 0x5f) || op == 0x68 || op == 0x6a || op == 0xc2 || op == 0xc3 || op == 0xc9 || op == 0xe8 ||
	       of_ff == 2 || of_ff == 6;
}

/* Does it call, jump to or push what it reads? */
static int leads_on(const uint8_t *code, unsigned bytes)
{
	int locked;
	const unsigned i = opcode_at(code, bytes, &locked);
	return i + 1 < bytes && code[i] == 0xff && (code[i + 1] >> 3 & 7) >= 2 && (code[i + 1] >> 3 & 7) != 7;
}

static const uint8_t *code_of(const struct tw_descriptor *d, unsigned insn, unsigned *bytes)
{
	const uint8_t *lengths = tw_descriptor_insn_bytes(d);
	unsigned at = 0;
	for (unsigned i = 0; i < insn; i++)
		at += lengths[i];
	*bytes = at + lengths[insn] <= d->code_bytes ? lengths[insn] : 0;
	return tw_descriptor_code(d) + at;
}

static int is_std_atomic(const char *function)
{
	static const char *const kin[] = {"std::atomic",       "std::__atomic",
	                                  "std::__1::atomic",  "std::__1::__atomic",
	                                  "std::__cxx_atomic", "std::__1::__cxx_atomic",
	                                  "boost::atomics",    "sync/atomic.",
	                                  "internal/atomic.",  NULL};
	for (const char *const *k = kin; *k; k++)
		if (strstr(function, *k))
			return 1;
	return 0;
}

/* Does another frame, the caller's, say that the order is relaxed? */
static enum tw_atomic_kind judge_frames(struct tw_atomics *a, const struct tw_code_name *name)
{
	for (unsigned k = 0; k < name->n_frames; k++) {
		const struct tw_name_frame *f = &name->frame[k];
		if (is_std_atomic(f->function))
			continue;
		return judge_place(a, f->file, f->line, NULL) == TW_ATOMIC_RELAXED ? TW_ATOMIC_RELAXED : TW_ATOMIC_ORDERS;
	}
	return TW_ATOMIC_ORDERS;
}

/* What it lacks, by the innermost frame that says so; frames around the first that is no atomic function's say nothing of it. */
static uint8_t judge_halves(struct tw_atomics *a, const struct tw_code_name *name)
{
	uint8_t lacks = judge_half(a, name->file, name->line);
	for (unsigned k = 0; k < name->n_frames && !lacks; k++) {
		lacks = judge_half(a, name->frame[k].file, name->frame[k].line);
		if (!is_std_atomic(name->frame[k].function))
			break;
	}
	return lacks;
}

static int is_reduction(struct tw_atomics *a, const struct tw_code_name *name)
{
	if (name->function && strstr(name->function, "._loopfn")) /* a loop that gcc has made parallel by itself */
		return 1;
	const struct tw_source_file *f = name->file ? file_of(a, name->file) : NULL;
	const char *at = f && f->text && name->line ? line_at(f->text, name->line) : NULL;
	return at && is_at_reduction(f->text, at);
}

/* Its kind, by names; of what is locked also what it lacks, and whether it reduces. */
static enum tw_atomic_kind judge(struct tw_atomics *a, const struct tw_ref *r, uint32_t image, struct tw_atomic_insn *of)
{
	struct tw_names *names = tw_context_names(a->context);
	struct tw_code_name name;
	struct tw_data_name data;
	if (!names)
		return of->locked ? TW_ATOMIC_ORDERS : TW_ATOMIC_UNKNOWN;
	tw_names_code(names, image, r->pc, &name);
	of->lacks = of->locked ? judge_halves(a, &name) : 0;
	of->reduces = of->locked && is_reduction(a, &name);
	for (unsigned k = 0; k < name.n_frames; k++)
		if (is_std_atomic(name.frame[k].function))
			return judge_frames(a, &name);
	tw_names_data(names, image, r->addr, &data);
	const enum tw_atomic_kind kind = judge_place(a, name.file, name.line, data.known ? data.object : NULL);
	return of->locked && kind < TW_ATOMIC_RELAXED ? TW_ATOMIC_ORDERS : kind;
}

static struct tw_atomic_insn *insns_of(struct tw_atomics *a, const struct tw_descriptor *d)
{
	struct tw_atomic_insn *of = tw_by_fragment_get(&a->fragments, d->number);
	if (of)
		return of;
	of = calloc(d->n_insns + 1u, sizeof *of);
	if (of && tw_by_fragment_set(&a->fragments, d->number, of))
		return of;
	free(of);
	return NULL;
}

const struct tw_atomic_insn *tw_atomics_of(struct tw_atomics *a, const struct tw_descriptor *d, const struct tw_ref *r, uint32_t image)
{
	struct tw_atomic_insn *of = insns_of(a, d);
	unsigned bytes;
	if (!of)
		return NULL;
	of += r->insn;
	if (!of->kind) {
		const uint8_t *code = code_of(d, r->insn, &bytes);
		of->locked = (uint8_t)is_locked(code, bytes);
		of->leads = (uint8_t)leads_on(code, bytes);
		of->kind = is_of_stack(code, bytes) ? TW_ATOMIC_EXPRESSLY_PLAIN : (uint8_t)judge(a, r, image, of);
	}
	return of;
}

void tw_atomics_free(struct tw_atomics *a)
{
	tw_by_fragment_free(&a->fragments, free);
	for (size_t i = 0; i < a->n_files; i++)
		free(a->files[i].text), free(a->files[i].declared);
	free(a->files);
	a->files = NULL;
	a->n_files = a->files_room = 0;
}
