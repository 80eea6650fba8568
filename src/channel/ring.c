#include "channel/ring.h"
#include "base/array.h"
#include "base/channel.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char why_dropped[] = "only the last of what ran was kept (record --ring)";

struct kept {
	struct kept *next;
	uint64_t ran;
	struct tw_thread_info thread;
	struct tw_file_chunk head;
	size_t n;
	uint8_t bytes[];
};

/* What has become of a thread's chunks. */
struct thread_kept {
	uint64_t dropped;  /* since the last that was written */
	uint32_t sequence; /* of the next to be written, and what those before it have executed */
	uint64_t insns, blocks, refs;
};

struct tw_ring {
	struct tw_ring_size size;
	struct kept *oldest, **newest;
	struct kept *last_ran;      /* the newest in which something was executed, which stays; NULL: there is none */
	uint64_t bytes, ran;        /* ran: when something was executed last */
	struct thread_kept *thread; /* by serial number */
	size_t n_threads;
};

struct tw_ring *tw_ring_new(const struct tw_ring_size *size)
{
	struct tw_ring *r = calloc(1, sizeof *r);
	if (!r)
		return NULL;
	r->size = *size;
	r->newest = &r->oldest;
	return r;
}

/* The oldest, taken out. */
static struct kept *take(struct tw_ring *r)
{
	struct kept *k = r->oldest;
	r->last_ran = r->last_ran == k ? NULL : r->last_ran;
	r->oldest = k->next;
	if (!r->oldest)
		r->newest = &r->oldest;
	r->bytes -= sizeof *k + k->n;
	return k;
}

void tw_ring_free(struct tw_ring *r)
{
	while (r && r->oldest)
		free(take(r));
	if (r)
		free(r->thread);
	free(r);
}

/* ---- keeping ---- */

static struct kept *copy(const struct tw_packed *p, uint64_t ran)
{
	size_t n = 0;
	for (int i = 0; i < p->n_pieces; i++)
		n += p->piece[i].iov_len;
	struct kept *k = malloc(sizeof *k + n);
	if (!k)
		return NULL;
	*k = (struct kept){.ran = ran, .thread = p->thread, .head = p->head};
	for (int i = 0; i < p->n_pieces; i++) {
		memcpy(k->bytes + k->n, p->piece[i].iov_base, p->piece[i].iov_len);
		k->n += p->piece[i].iov_len;
	}
	return k;
}

static int is_too_much(const struct tw_ring *r)
{
	return (r->size.bytes && r->bytes > r->size.bytes) || (r->size.ns && r->ran > r->oldest->ran + r->size.ns);
}

int tw_ring_add(struct tw_ring *r, const struct tw_packed *packed, uint64_t ran)
{
	if (packed->head.insns && ran > r->ran)
		r->ran = ran;
	struct kept *k = copy(packed, packed->head.insns ? ran : r->ran);
	struct thread_kept *threads = k ? tw_array_zeros(r->thread, k->thread.serial, &r->n_threads, sizeof *threads) : NULL;
	if (!threads) {
		free(k);
		return tw_fail(TW_ERR_MEMORY, "--ring");
	}
	r->thread = threads;
	*r->newest = k;
	r->newest = &k->next;
	r->bytes += sizeof *k + k->n;
	r->last_ran = k->head.insns ? k : r->last_ran;
	while (r->oldest != k && r->oldest != r->last_ran && is_too_much(r)) {
		struct kept *dropped = take(r);
		r->thread[dropped->thread.serial].dropped++;
		free(dropped);
	}
	return TW_OK;
}

/* ---- writing ---- */

/* In the place of what was dropped. */
static int write_gap(struct tw_writer *w, const struct kept *before, struct thread_kept *t)
{
	struct {
		struct tw_event_header head;
		struct tw_gap gap;
		char text[(sizeof why_dropped + 7) / 8 * 8];
	} event = {{TW_TAG_EVENT, TW_EVENT_GAP, sizeof event.gap + sizeof why_dropped}, {TW_GAP_STRETCH, 0}, ""};
	uint16_t tag = TW_TAG_EVENT;
	memcpy(event.text, why_dropped, sizeof why_dropped);
	const struct tw_chunk chunk = {
	    .thread = before->head.thread,
	    .sequence = t->sequence++,
	    .upper = before->head.upper,
	    .first_insn = t->insns,
	    .first_block = t->blocks,
	    .first_ref = t->refs,
	    .c = &tag,
	    .n_c = 1,
	    .e = (uint8_t *)&event,
	    .n_e = sizeof event,
	};
	t->dropped = 0;
	return tw_writer_chunk(w, &before->thread, &chunk, 1, 1);
}

static int write_chunk(struct tw_writer *w, struct kept *k, struct thread_kept *t)
{
	struct tw_packed p = {.thread = k->thread, .head = k->head, .piece = {{k->bytes, k->n}}, .n_pieces = 1};
	p.head.sequence = t->sequence++;
	p.head.first_insn = t->insns;
	p.head.first_block = t->blocks;
	p.head.first_ref = t->refs;
	p.head.check = XXH64(&p.head, offsetof(struct tw_file_chunk, check), 0);
	t->insns += k->head.insns;
	t->blocks += k->head.blocks;
	t->refs += k->head.refs;
	return tw_writer_packed(w, &p);
}

int tw_ring_write(struct tw_ring *r, struct tw_writer *w)
{
	int error = TW_OK;
	while (r->oldest && !error) {
		struct kept *k = take(r);
		struct thread_kept *t = &r->thread[k->thread.serial];
		error = t->dropped ? write_gap(w, k, t) : TW_OK;
		if (!error)
			error = write_chunk(w, k, t);
		free(k);
	}
	return error;
}

/* ---- sizes ---- */

int tw_ring_parse(const char *text, struct tw_ring_size *size)
{
	static const struct unit {
		const char *name;
		double bytes, ns;
	} units[] = {{"k", 1 << 10, 0}, {"K", 1 << 10, 0}, {"M", 1 << 20, 0}, {"G", 1 << 30, 0},
	             {"ms", 0, 1e6},    {"s", 0, 1e9},     {"min", 0, 60e9}};
	char *end;
	errno = 0;
	const double n = strtod(text, &end);
	if (errno || *text < '0' || *text > '9' || !isfinite(n) || n <= 0)
		return -1;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		const double most = 1e18;
		if (strcmp(end, units[i].name) || n * (units[i].bytes + units[i].ns) > most)
			continue;
		*size = (struct tw_ring_size){(uint64_t)(n * units[i].bytes), (uint64_t)(n * units[i].ns)};
		return size->bytes || size->ns ? 0 : -1;
	}
	return -1;
}
