#include "analyzers/ordering_tasks.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* ---- makers ---- */

uint32_t tw_ordering_maker_new(struct tw_ordering *o)
{
	size_t i = 0;
	while (i < o->n_makers && o->makers[i].uses)
		i++;
	if (i == o->n_makers) {
		struct tw_ordering_maker *makers = tw_array_room(o->makers, o->n_makers, &o->makers_room, sizeof *makers);
		if (!makers)
			return 0;
		o->makers = makers;
		o->n_makers++;
	}
	o->makers[i] = (struct tw_ordering_maker){.uses = 1};
	return (uint32_t)i + 1;
}

static void free_maker(struct tw_ordering_maker *m)
{
	for (size_t i = 0; i < m->n_places; i++)
		for (int k = 0; k < TW_ORDERING_DEPENDS; k++)
			tw_clocks_free(&m->places[i].by[k]);
	free(m->places);
	tw_clocks_free(&m->children);
	tw_clocks_free(&m->depending);
	tw_clocks_free(&m->unknown);
	*m = (struct tw_ordering_maker){0};
}

void tw_ordering_maker_drop(struct tw_ordering *o, uint32_t number)
{
	if (number && !--o->makers[number - 1].uses)
		free_maker(&o->makers[number - 1]);
}

const struct tw_clocks *tw_ordering_maker_children(const struct tw_ordering *o, uint32_t number)
{
	return &o->makers[number - 1].children;
}

static struct tw_ordering_place *place_of(struct tw_ordering_maker *m, uint64_t addr)
{
	for (size_t i = 0; i < m->n_places; i++)
		if (m->places[i].addr == addr)
			return &m->places[i];
	struct tw_ordering_place *places = tw_array_room(m->places, m->n_places, &m->places_room, sizeof *places);
	if (!places)
		return NULL;
	m->places = places;
	places[m->n_places] = (struct tw_ordering_place){.addr = addr};
	return &places[m->n_places++];
}

/* ---- what a list says ---- */

struct depends {
	const uint64_t *addr;
	size_t n, n_out, n_mutex; /* first those that are written, then those that exclude each other, then those that are read */
	int unknown;              /* there are others, too */
};

/* libgomp's format: the total, the number of written ones, and the list; or 0, the total, the numbers of each kind, and the list. */
static struct depends parse(const uint64_t *list, size_t n)
{
	struct depends d = {.unknown = 1};
	const size_t head = n && list[0] ? 2 : 5;
	if (n <= head)
		return d;
	d.addr = list + head;
	d.n_out = list[head == 2 ? 1 : 2];
	d.n_mutex = head == 2 ? 0 : list[3];
	d.n = head == 2 ? list[0] : d.n_out + d.n_mutex + list[4];
	d.unknown = d.n != (head == 2 ? list[0] : list[1]) || d.n > n - head;
	for (size_t i = 0; i < d.n && !d.unknown; i++)
		d.unknown = !d.addr[i]; /* all memory */
	d.n = d.unknown ? 0 : d.n;
	return d;
}

static enum tw_ordering_depend kind_of(const struct depends *d, size_t i)
{
	return i < d->n_out ? TW_ORDERING_OUT : i < d->n_out + d->n_mutex ? TW_ORDERING_MUTEX : TW_ORDERING_IN;
}

/* The thread learns what those know that these depend on. */
static int acquire_depends(struct tw_ordering_maker *m, struct tw_ordering_thread *t, const struct depends *d)
{
	int error = tw_ordering_acquire(t, d->unknown ? &m->depending : &m->unknown);
	for (size_t i = 0; i < d->n && !error; i++) {
		const struct tw_ordering_place *p = place_of(m, d->addr[i]);
		if (!p)
			return TW_ERR_MEMORY;
		for (int k = 0; k < TW_ORDERING_DEPENDS && !error; k++)
			if (k != TW_ORDERING_IN || kind_of(d, i) != TW_ORDERING_IN)
				error = tw_ordering_acquire(t, &p->by[k]);
	}
	return error;
}

static int release_depends(struct tw_ordering_maker *m, const struct tw_ordering_thread *t, const struct depends *d)
{
	int error = tw_clocks_join(&m->depending, &t->clocks);
	if (!error && d->unknown)
		error = tw_clocks_join(&m->unknown, &t->clocks);
	for (size_t i = 0; i < d->n && !error; i++) {
		struct tw_ordering_place *p = place_of(m, d->addr[i]);
		error = p ? tw_clocks_join(&p->by[kind_of(d, i)], &t->clocks) : TW_ERR_MEMORY;
	}
	return error;
}

/* ---- tasks ---- */

static struct tw_ordering_made *add(struct tw_ordering *o)
{
	size_t i = 0;
	while (i < o->n_made && o->made[i].maker)
		i++;
	if (i == o->n_made) {
		struct tw_ordering_made *made = tw_array_room(o->made, o->n_made, &o->made_room, sizeof *made);
		if (!made)
			return NULL;
		o->made = made;
		o->n_made++;
	}
	o->made[i] = (struct tw_ordering_made){0};
	return &o->made[i];
}

static void drop(struct tw_ordering *o, struct tw_ordering_made *x)
{
	tw_clocks_free(&x->made);
	free(x->list);
	tw_ordering_maker_drop(o, x->maker);
	*x = (struct tw_ordering_made){0};
}

int tw_ordering_made_new(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t function, const uint64_t *list, size_t n)
{
	const struct tw_ordering_frame *f = t->n_frames ? &t->frames[t->n_frames - 1] : NULL;
	t->making.number = 0;
	if (!f)
		return 0;
	struct tw_ordering_made *x = add(o);
	if (!x)
		return TW_ERR_MEMORY;
	*x = (struct tw_ordering_made){.function = function, .program = t->program, .team = f->team, .maker = f->maker, .n_list = n};
	o->makers[f->maker - 1].uses++;
	t->making.number = (uint32_t)(x - o->made) + 1;
	x->list = n ? malloc(n * sizeof *list) : NULL;
	if (n && !x->list)
		return TW_ERR_MEMORY;
	if (n)
		memcpy(x->list, list, n * sizeof *list);
	return tw_ordering_release(t, &x->made);
}

/* The task that the thread creates, or created last within the call; NULL: it has ended, or there is none. */
static struct tw_ordering_made *making_of(const struct tw_ordering *o, const struct tw_ordering_thread *t)
{
	struct tw_ordering_made *x = t->making.number ? &o->made[t->making.number - 1] : NULL;
	return x && t->n_frames && x->maker == t->frames[t->n_frames - 1].maker && x->function == t->making.function ? x : NULL;
}

int tw_ordering_made_block(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t block, uint64_t bytes, int several)
{
	for (size_t i = 0; i < o->n_made && block; i++)
		if (o->made[i].block == block && o->made[i].program == t->program && !o->made[i].runs)
			drop(o, &o->made[i]); /* what was there before was no task */
	struct tw_ordering_made *x = making_of(o, t);
	if (!block || !t->making.number || (x && x->block && !several))
		return 0;
	if (!x || x->block || x->runs) {
		int error = tw_ordering_made_new(o, t, t->making.function, NULL, 0);
		x = making_of(o, t);
		if (error || !x)
			return error;
	}
	x->block = block;
	x->bytes = bytes;
	return 0;
}

int tw_ordering_made_more(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	struct tw_ordering_made *x = making_of(o, t);
	return x && !x->runs ? tw_ordering_release(t, &x->made) : 0;
}

void tw_ordering_made_leave(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	struct tw_ordering_made *x = making_of(o, t);
	if (x && !x->block && !x->runs)
		drop(o, x);
	t->making = (struct tw_ordering_making){0};
}

/* The task of this function in whose block an address is; 0: none. */
static uint32_t waiting_at(const struct tw_ordering *o, uint32_t program, uint64_t function, uint64_t addr)
{
	for (size_t i = 0; i < o->n_made; i++) {
		const struct tw_ordering_made *x = &o->made[i];
		if (x->block && !x->runs && x->function == function && x->program == program && addr - x->block < x->bytes)
			return (uint32_t)i + 1;
	}
	return 0;
}

/* The library may look at several, such as neighbours in a queue: the last one counts. */
uint32_t tw_ordering_made_runs(const struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t function)
{
	uint32_t number = 0;
	for (size_t i = 1; i <= TW_ORDERING_READ && i <= t->n_read && !number; i++)
		number = waiting_at(o, t->program, function, t->read[(t->n_read - i) % TW_ORDERING_READ]);
	return number;
}

int tw_ordering_made_begin(struct tw_ordering *o, struct tw_ordering_thread *t, uint32_t number)
{
	struct tw_ordering_made *x = &o->made[number - 1];
	const struct depends d = parse(x->list, x->n_list);
	x->runs = 1;
	int error = tw_ordering_acquire(t, &x->made);
	return error || !x->n_list ? error : acquire_depends(&o->makers[x->maker - 1], t, &d);
}

int tw_ordering_made_end(struct tw_ordering *o, const struct tw_ordering_thread *t, uint32_t number)
{
	struct tw_ordering_made *x = &o->made[number - 1];
	struct tw_ordering_maker *m = &o->makers[x->maker - 1];
	const struct depends d = parse(x->list, x->n_list);
	int error = tw_clocks_join(&m->children, &t->clocks);
	if (!error && x->n_list)
		error = release_depends(m, t, &d);
	return error;
}

void tw_ordering_made_drop(struct tw_ordering *o, uint32_t number)
{
	drop(o, &o->made[number - 1]);
}

void tw_ordering_made_forget(struct tw_ordering *o, uint32_t team)
{
	for (size_t i = 0; i < o->n_made; i++)
		if (o->made[i].maker && o->made[i].team == team && !o->made[i].runs)
			drop(o, &o->made[i]);
}

int tw_ordering_made_fulfill(struct tw_ordering *o, struct tw_ordering_thread *t)
{
	int error = 0;
	for (size_t i = 0; i < o->n_makers && !error; i++) {
		struct tw_ordering_maker *m = &o->makers[i];
		struct tw_clocks *waited_for[] = {&m->children, &m->depending, &m->unknown};
		for (int k = 0; k < 3 && m->uses && !error; k++)
			error = tw_clocks_join(waited_for[k], &t->clocks);
	}
	for (size_t i = 0; i < o->n_teams && !error; i++)
		error = tw_clocks_join(&o->teams[i].tasks, &t->clocks);
	return error ? error : tw_ordering_advance(t);
}

int tw_ordering_made_wait(struct tw_ordering *o, struct tw_ordering_thread *t, const uint64_t *list, size_t n)
{
	const struct depends d = parse(list, n);
	return t->n_frames ? acquire_depends(&o->makers[t->frames[t->n_frames - 1].maker - 1], t, &d) : 0;
}

void tw_ordering_tasks_free(struct tw_ordering *o)
{
	for (size_t i = 0; i < o->n_made; i++) {
		tw_clocks_free(&o->made[i].made);
		free(o->made[i].list);
	}
	for (size_t i = 0; i < o->n_makers; i++)
		free_maker(&o->makers[i]);
	free(o->made);
	free(o->makers);
}
