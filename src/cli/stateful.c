#include "cli/stateful.h"
#include "base/array.h"
#include "cli/cli.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How much is replayed before the first look at the clock, in units of tw_parts_cost_before(), for each job. */
enum { FIRST_COST = 8 << 20 };

struct run {
	struct tw_session *session;
	const struct tw_run *how;
	struct tw_parts *parts;
	struct tw_packed_parts loaded; /* those that are not joined yet are from number `next` on */
	size_t next;
	struct tw_part whole; /* what is known from the beginning on */
	uint64_t budget;      /* cost of the next piece */
	double saved, saving; /* when the state was kept last; how long that took */
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int complain(const struct run *r, const char *why)
{
	fprintf(stderr, "%s %s: %s: %s\n", tw_cli_program, r->session->command, r->how->state, why);
	return 1;
}

static int failed(const struct run *r, int error)
{
	return error ? tw_session_failed(r->session, error) : 0;
}

/* ---- the file ---- */

static int by_place(const void *a, const void *b)
{
	const struct tw_packed_part *x = a, *y = b;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

static int is_of(const struct tw_parts *parts, const struct tw_packed_part *p)
{
	return p->end <= tw_parts_units(parts) && p->digest == tw_parts_digest(parts, p->end);
}

size_t tw_stateful_choose(const struct tw_parts *parts, struct tw_packed_parts *all, struct tw_packed_parts *own)
{
	size_t n = 0;
	*own = (struct tw_packed_parts){.items = calloc(all->n + 1, sizeof *own->items), .room = all->n + 1};
	for (size_t i = 0; i < all->n; i++) {
		if (own->items && is_of(parts, &all->items[i]))
			own->items[own->n++] = all->items[i];
		else
			all->items[n++] = all->items[i];
	}
	all->n = n;
	if (own->n)
		qsort(own->items, own->n, sizeof *own->items, by_place);
	return n;
}

static int load(struct run *r)
{
	struct tw_packed_parts all;
	char why[256];
	int wrong = tw_state_read(r->how->state, r->session->request, &all, why, sizeof why);
	if (wrong)
		complain(r, why);
	else if (tw_stateful_choose(r->parts, &all, &r->loaded))
		wrong = complain(r, "it is of another recording, or this one has changed since");
	tw_packed_parts_free(&all);
	return wrong;
}

static int save(struct run *r)
{
	struct tw_packed_parts all = {0};
	const struct tw_packed_part *rest = r->loaded.items + r->next;
	size_t n = r->loaded.n - r->next;
	char why[256];
	double start = now();
	int error = r->whole.state ? tw_packed_parts_add(&all, r->parts, &r->whole, r->session->stage.views) : 0;
	struct tw_packed_part *items = error ? NULL : reallocarray(all.items, all.n + n + 1, sizeof *items);
	if (!items) {
		tw_packed_parts_free(&all);
		return tw_session_failed(r->session, error ? error : tw_fail(TW_ERR_MEMORY, "packed state"));
	}
	all.items = items;
	size_t own = all.n;
	for (size_t i = 0; i < n; i++)
		items[all.n++] = rest[i];
	int wrong = tw_state_write(r->how->state, r->session->request, &all, why, sizeof why);
	all.n = own;
	tw_packed_parts_free(&all);
	r->saved = now();
	r->saving = r->saved - start;
	return wrong ? complain(r, why) : 0;
}

/* Not more than a tenth of the time goes into it. */
static int is_time_to_save(const struct run *r)
{
	double past = now() - r->saved;
	return past >= (double)r->how->every && past >= 9 * r->saving;
}

/* ---- the parts ---- */

static int join(struct run *r, struct tw_part *part)
{
	if (!r->whole.state) {
		r->whole = *part;
		return 0;
	}
	return failed(r, tw_parts_join(r->parts, &r->whole, part));
}

/* The next part of the file. */
static int join_loaded(struct run *r)
{
	struct tw_packed_part *p = &r->loaded.items[r->next];
	struct tw_part part = {.first = p->first, .end = p->end, .damaged = p->damaged};
	int error = tw_parts_unpack(r->parts, &part, p->bytes, p->n);
	if (error == TW_ERR_DAMAGED)
		return complain(r, "it is damaged");
	if (error)
		return failed(r, error);
	if (r->session->stage.views)
		tw_views_add_findings(r->session->stage.views, (uint32_t)p->findings);
	if (r->session->stage.insns_done)
		*r->session->stage.insns_done += tw_parts_insns(r->parts, part.first, part.end);
	r->session->damage.chunks += part.damaged;
	free(p->bytes);
	p->bytes = NULL;
	r->next++;
	return join(r, &part);
}

uint64_t tw_stateful_first(const struct tw_run *how)
{
	return how->every ? FIRST_COST * how->jobs : 0;
}

/* The next piece should take about as long as the interval between two saves of the state. */
uint64_t tw_stateful_next(const struct tw_run *how, uint64_t budget, double seconds)
{
	enum { LEAST = 1, MOST = 4 };
	double times = (double)how->every / (seconds + 1e-3);
	return times > MOST ? MOST * budget : (uint64_t)((double)budget * times) + LEAST;
}

static int run_piece(struct run *r)
{
	size_t end = r->next < r->loaded.n ? r->loaded.items[r->next].first : tw_parts_units(r->parts);
	struct tw_part part;
	double start = now();
	end = tw_parts_piece(r->parts, r->whole.end, end, r->budget);
	int error = tw_parts_run(r->parts, r->whole.end, end, &part);
	r->budget = tw_stateful_next(r->how, r->budget, now() - start);
	return error ? failed(r, error) : join(r, &part);
}

static int is_loaded_next(const struct run *r)
{
	return r->next < r->loaded.n && r->loaded.items[r->next].first <= r->whole.end;
}

/* Of two overlapping parts, which no run of ours writes, the first counts. */
static int step(struct run *r)
{
	if (!is_loaded_next(r))
		return run_piece(r);
	if (r->loaded.items[r->next].first == r->whole.end)
		return join_loaded(r);
	free(r->loaded.items[r->next].bytes);
	r->loaded.items[r->next++].bytes = NULL;
	return 0;
}

static int run_all(struct run *r)
{
	int status = load(r), kept = !status && r->loaded.n == 1 && r->loaded.items[0].end == tw_parts_units(r->parts);
	while (!status && r->whole.end < tw_parts_units(r->parts)) {
		status = step(r);
		if (!status && is_time_to_save(r) && r->whole.end < tw_parts_units(r->parts))
			status = save(r);
	}
	if (!status && !r->whole.state)
		status = failed(r, tw_parts_run(r->parts, 0, 0, &r->whole));
	return status || kept ? status : save(r);
}

int tw_stateful_run(struct tw_session *s, const struct tw_run *how)
{
	struct run r = {.session = s, .how = how, .budget = tw_stateful_first(how), .saved = now()};
	const char *refusal = tw_parts_refuse(s->request->analyzer);
	if (refusal)
		return tw_session_complain(s, refusal);
	if (tw_is_part_of(how->state, s->dir))
		return complain(&r, "it is a file of the recording");
	int error = tw_parts_new(&s->stage, s->recording, &s->options, &r.parts);
	if (error)
		return failed(&r, error);
	int status = run_all(&r);
	if (r.whole.state) {
		error = tw_parts_end(r.parts, &r.whole, status);
		status = status ? status : failed(&r, error);
	}
	tw_packed_parts_free(&r.loaded);
	tw_parts_free(r.parts);
	return status;
}
