#include "plugin/state_file.h"
#include "base/array.h"
#include "recording/recording.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { VERSION = 1, NAME_BYTES = 48 };

#define FILE_MAGIC 0x4554415453525754ull
#define PART_MAGIC 0x5452415053525754ull

struct file_header {
	uint64_t magic;
	uint32_t version, pack_version;
	char name[NAME_BYTES]; /* of the analyzer */
	uint64_t request;      /* digest of its options */
	uint64_t n_parts;
	uint64_t check; /* xxh64 of the bytes before */
};

/* Before the bytes of a part. */
struct file_part {
	uint64_t magic;
	uint64_t digest, first, end, damaged, findings;
	uint64_t bytes, bytes_check;
	uint64_t check; /* xxh64 of the bytes before */
};

static int say(char *why, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int say(char *why, size_t size, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(why, size, format, args);
	va_end(args);
	return 1;
}

/* ---- what it is of ---- */

static void add_text(uint64_t *digest, const char *text)
{
	const uint64_t pair[] = {*digest, text ? XXH64(text, strlen(text), 1) : 0};
	*digest = XXH64(pair, sizeof pair, 0);
}

/* Everything on which a state depends: not the answer's destination and form. */
static uint64_t digest_of(const struct tw_request *r)
{
	const struct tw_view *v = &r->view;
	const uint64_t limits[] = {(uint64_t)v->has_thread, v->thread, v->from.kind, v->from.value, v->to.kind, v->to.value};
	uint64_t digest = XXH64(limits, sizeof limits, 0);
	add_text(&digest, v->function);
	add_text(&digest, v->module);
	add_text(&digest, v->range);
	for (size_t i = 0; r->analyzer->options && r->analyzer->options[i].name; i++)
		add_text(&digest, r->settings[i].value);
	return digest;
}

static struct file_header header_of(const struct tw_request *r, size_t n_parts)
{
	struct file_header h = {FILE_MAGIC, VERSION, r->analyzer->pack_version, "", digest_of(r), n_parts, 0};
	strncpy(h.name, r->analyzer->name, sizeof h.name - 1);
	h.check = XXH64(&h, offsetof(struct file_header, check), 0);
	return h;
}

static int check_header(const struct file_header *h, const struct tw_request *r, char *why, size_t size)
{
	struct file_header own = header_of(r, h->n_parts);
	if (h->magic != own.magic)
		return say(why, size, "it is not a --state file");
	if (h->version != own.version)
		return say(why, size, "it is in version %u of its format, this is version %u", h->version, own.version);
	if (h->check != XXH64(h, offsetof(struct file_header, check), 0))
		return say(why, size, "it is damaged");
	if (memcmp(h->name, own.name, sizeof own.name))
		return say(why, size, "it holds the state of %.*s, not of %s", NAME_BYTES, h->name, own.name);
	if (h->pack_version != own.pack_version)
		return say(why, size, "it holds version %u of the state of %s, this is version %u", h->pack_version, own.name,
		           own.pack_version);
	return h->request == own.request ? 0 : say(why, size, "it was made with other options of %s", own.name);
}

/* ---- reading ---- */

static int read_part(FILE *f, uint64_t left, struct tw_packed_part *out, char *why, size_t size)
{
	struct file_part h;
	if (fread(&h, sizeof h, 1, f) != 1 || h.magic != PART_MAGIC || h.check != XXH64(&h, offsetof(struct file_part, check), 0) ||
	    h.bytes > left)
		return say(why, size, "it is damaged");
	*out = (struct tw_packed_part){h.digest, h.first, h.end, h.damaged, h.findings, h.bytes, malloc(h.bytes + 1)};
	if (!out->bytes)
		return say(why, size, "no memory");
	if (fread(out->bytes, 1, h.bytes, f) == h.bytes && XXH64(out->bytes, h.bytes, 0) == h.bytes_check && h.first <= h.end)
		return 0;
	free(out->bytes);
	return say(why, size, "it is damaged");
}

static int read_parts(FILE *f, uint64_t bytes, uint64_t n, struct tw_packed_parts *out, char *why, size_t size)
{
	int wrong = 0;
	for (uint64_t i = 0; i < n && !wrong; i++) {
		struct tw_packed_part *items = tw_array_room(out->items, out->n, &out->room, sizeof *items);
		if (!items)
			return say(why, size, "no memory");
		out->items = items;
		wrong = read_part(f, bytes, &items[out->n], why, size);
		out->n += !wrong;
	}
	return wrong ? wrong : fgetc(f) == EOF ? 0 : say(why, size, "it is damaged");
}

int tw_state_read(const char *path, const struct tw_request *request, struct tw_packed_parts *out, char *why, size_t size)
{
	struct file_header h;
	FILE *f = fopen(path, "re");
	*out = (struct tw_packed_parts){0};
	if (!f)
		return errno == ENOENT ? 0 : say(why, size, "%s", strerror(errno));
	long bytes = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
	rewind(f);
	int wrong =
	    bytes < 0 || fread(&h, sizeof h, 1, f) != 1 ? say(why, size, "it is not a --state file") : check_header(&h, request, why, size);
	if (!wrong)
		wrong = read_parts(f, (uint64_t)bytes, h.n_parts, out, why, size);
	fclose(f);
	return wrong;
}

/* ---- writing ---- */

static int write_part(FILE *f, const struct tw_packed_part *p)
{
	struct file_part h = {PART_MAGIC, p->digest, p->first, p->end, p->damaged, p->findings, p->n, XXH64(p->bytes, p->n, 0), 0};
	h.check = XXH64(&h, offsetof(struct file_part, check), 0);
	return fwrite(&h, sizeof h, 1, f) == 1 && fwrite(p->bytes, 1, p->n, f) == p->n;
}

static int write_all(FILE *f, const struct tw_request *request, const struct tw_packed_parts *parts)
{
	const struct file_header h = header_of(request, parts->n);
	int good = fwrite(&h, sizeof h, 1, f) == 1;
	for (size_t i = 0; i < parts->n && good; i++)
		good = write_part(f, &parts->items[i]);
	good = good && !fflush(f) && !fsync(fileno(f));
	return !fclose(f) && good;
}

int tw_state_write(const char *path, const struct tw_request *request, const struct tw_packed_parts *parts, char *why, size_t size)
{
	char *beside;
	if (asprintf(&beside, "%s.new", path) < 0)
		return say(why, size, "no memory");
	FILE *f = fopen(beside, "we");
	errno = f ? 0 : errno;
	int good = f && write_all(f, request, parts) && !rename(beside, path);
	if (!good)
		say(why, size, "%s", errno ? strerror(errno) : "not all could be written");
	if (f && !good)
		unlink(beside);
	free(beside);
	return !good;
}

/* ---- parts ---- */

int tw_packed_parts_add(struct tw_packed_parts *to, const struct tw_parts *p, const struct tw_part *part, const struct tw_views *views)
{
	struct tw_packed_part *items = tw_array_room(to->items, to->n, &to->room, sizeof *items);
	if (!items)
		return tw_fail(TW_ERR_MEMORY, "packed state");
	to->items = items;
	struct tw_packed_part *item = &items[to->n];
	size_t n;
	int error = tw_parts_pack(p, part, &item->bytes, &n);
	if (error)
		return error;
	item->digest = tw_parts_digest(p, part->end);
	item->first = part->first;
	item->end = part->end;
	item->damaged = part->damaged;
	item->findings = views ? tw_views_findings(views) : 0;
	item->n = n;
	to->n++;
	return 0;
}

void tw_packed_parts_free(struct tw_packed_parts *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->items[i].bytes);
	free(p->items);
	*p = (struct tw_packed_parts){0};
}
