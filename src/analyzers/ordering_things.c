/* What threads give over and get: clocks, and the things at addresses that have them. */
#include "analyzers/ordering_things.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

/* ---- giving and getting ---- */

int tw_ordering_advance(struct tw_ordering_thread *t)
{
	return tw_clocks_set(&t->clocks, t->who, ++t->clock);
}

int tw_ordering_release(struct tw_ordering_thread *t, struct tw_clocks *to)
{
	int error = tw_clocks_join(to, &t->clocks);
	return error ? error : tw_ordering_advance(t);
}

int tw_ordering_acquire(struct tw_ordering_thread *t, const struct tw_clocks *from)
{
	const int kept = t->heard ? tw_heard_note(t->heard, t->who, t->clock + 1, &t->clocks, from) : 0;
	int error = kept < 0 ? kept : tw_clocks_join(&t->clocks, from);
	return error || !kept ? error : tw_ordering_advance(t);
}

/* ---- things ---- */

static size_t place_of(const struct tw_ordering *o, uint32_t program, uint64_t addr, enum tw_ordering_role role)
{
	size_t i = (size_t)(((addr ^ (uint64_t)program << 40) * 0x9e3779b97f4a7c15ull + role * 0xbf58476d1ce4e5b9ull) >> 24) &
	           (o->things_room - 1);
	while (o->things[i].used && (o->things[i].addr != addr || o->things[i].program != program || o->things[i].role != role))
		i = (i + 1) & (o->things_room - 1);
	return i;
}

static int grow(struct tw_ordering *o)
{
	enum { FIRST = 256 };
	struct tw_ordering more = {.things_room = o->things_room ? 2 * o->things_room : FIRST};
	more.things = calloc(more.things_room, sizeof *more.things);
	if (!more.things)
		return 0;
	for (size_t i = 0; i < o->things_room; i++)
		if (o->things[i].used)
			more.things[place_of(&more, o->things[i].program, o->things[i].addr, o->things[i].role)] = o->things[i];
	free(o->things);
	o->things = more.things;
	o->things_room = more.things_room;
	return 1;
}

/* Whose thing it is: descriptors and signals connect processes, and what is in shared memory belongs to the segment. */
static struct tw_place place_for(const struct tw_ordering *o, uint32_t program, uint64_t addr, enum tw_ordering_role role)
{
	if (role >= TW_ROLE_CHANNEL)
		return (struct tw_place){0, addr};
	return tw_shared_memory_place(&o->shared, program, addr);
}

struct tw_ordering_thing *tw_ordering_thing(struct tw_ordering *o, uint32_t of_program, uint64_t at, enum tw_ordering_role role)
{
	const struct tw_place p = place_for(o, of_program, at, role);
	const uint32_t program = p.program;
	const uint64_t addr = p.addr;
	if (2 * o->n_things >= o->things_room && !grow(o))
		return NULL;
	struct tw_ordering_thing *x = &o->things[place_of(o, program, addr, role)];
	if (!x->used) {
		x->used = 1;
		x->addr = addr;
		x->program = program;
		x->role = role;
		o->n_things++;
	}
	return x;
}

int tw_ordering_release_to(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, enum tw_ordering_role role)
{
	struct tw_ordering_thing *x = tw_ordering_thing(o, t->program, addr, role);
	if (!x)
		return TW_ERR_MEMORY;
	return tw_ordering_release(t, &x->clocks);
}

int tw_ordering_acquire_from(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, enum tw_ordering_role role)
{
	struct tw_ordering_thing *x = tw_ordering_thing(o, t->program, addr, role);
	return x ? tw_ordering_acquire(t, &x->clocks) : TW_ERR_MEMORY;
}

/* ---- teams ---- */

void tw_ordering_team_clocks(struct tw_ordering_team *m, struct tw_clocks *all[TW_ORDERING_TEAM_CLOCKS])
{
	struct tw_clocks *const some[TW_ORDERING_TEAM_CLOCKS - TW_ORDERING_PHASES] = {&m->fork,    &m->ended,  &m->tasks, &m->depending,
	                                                                              &m->ordered, &m->copied, &m->posted};
	memcpy(all, some, sizeof some);
	for (int i = 0; i < TW_ORDERING_PHASES; i++)
		all[TW_ORDERING_TEAM_CLOCKS - TW_ORDERING_PHASES + i] = &m->phases[i].clocks;
}

void tw_ordering_team_free(struct tw_ordering_team *m)
{
	free(m->parts);
	m->parts = NULL;
	m->n_parts = m->parts_room = 0;
	struct tw_clocks *all[TW_ORDERING_TEAM_CLOCKS];
	tw_ordering_team_clocks(m, all);
	for (int i = 0; i < TW_ORDERING_TEAM_CLOCKS; i++)
		tw_clocks_free(all[i]);
}

/* ---- variables that are read early ---- */

/* What knows the thread beyond this clock knows `from`, too. */
static int tell(struct tw_clocks *of, const struct tw_ordering_early *e, const struct tw_clocks *from)
{
	return tw_clocks_get(of, e->who) > e->clock ? tw_clocks_join(of, from) : 0;
}

static int tell_thread(struct tw_ordering_thread *t, const struct tw_ordering_early *e, const struct tw_clocks *from)
{
	int error = tell(&t->clocks, e, from);
	if (!error)
		error = tell(&t->at_create, e, from);
	for (size_t i = 0; i < t->n_frames && !error; i++)
		error = tell(&t->frames[i].clocks, e, from);
	return error;
}

static int tell_team(struct tw_ordering_team *m, const struct tw_ordering_early *e, const struct tw_clocks *from)
{
	struct tw_clocks *all[TW_ORDERING_TEAM_CLOCKS];
	int error = 0;
	tw_ordering_team_clocks(m, all);
	for (int i = 0; i < TW_ORDERING_TEAM_CLOCKS && !error; i++)
		error = tell(all[i], e, from);
	return error;
}

static int tell_thing(struct tw_ordering_thing *x, const struct tw_ordering_early *e, const struct tw_clocks *from)
{
	int error = tell(&x->clocks, e, from);
	for (int i = 0; i < 2 && !error; i++)
		error = tell(&x->phases[i], e, from);
	return error;
}

static int tell_all(struct tw_ordering *o, const struct tw_ordering_early *e, const struct tw_clocks *from)
{
	int error = 0;
	for (size_t i = 0; i < o->n_threads && !error; i++)
		error = tell_thread(&o->threads[i], e, from);
	for (size_t i = 0; i < o->things_room && !error; i++)
		error = tell_thing(&o->things[i], e, from);
	for (size_t i = 0; i < o->n_births && !error; i++)
		error = tell(&o->births[i].clocks, e, from);
	for (size_t i = 0; i < o->n_teams && !error; i++)
		error = tell_team(&o->teams[i], e, from);
	for (size_t i = 0; i < o->n_tasks && !error; i++) {
		error = tell(&o->tasks[i].made, e, from);
		if (!error)
			error = tell(&o->tasks[i].ended, e, from);
	}
	return error;
}

/* The variable has been written. */
static int tell_early(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr)
{
	int error = 0;
	for (size_t i = 0; i < o->n_early && !error; i++) {
		const struct tw_ordering_early *e = &o->early[i];
		if (tw_shared_memory_address(&o->shared, e->program, e->addr, t->program) != addr ||
		    tw_clocks_get(&t->clocks, e->who) > e->clock)
			continue;
		const struct tw_ordering_thing *x = tw_ordering_thing(o, t->program, addr, TW_ROLE_ATOMIC);
		error = x ? tell_all(o, e, &x->clocks) : TW_ERR_MEMORY;
	}
	return error;
}

int tw_ordering_read_early(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr)
{
	for (size_t i = 0; i < o->n_early; i++)
		if (o->early[i].who == t->who && o->early[i].addr == addr)
			return 0;
	struct tw_ordering_early *early = tw_array_room(o->early, o->n_early, &o->early_room, sizeof *early);
	if (!early)
		return TW_ERR_MEMORY;
	o->early = early;
	early[o->n_early++] = (struct tw_ordering_early){t->index, t->who, t->program, t->clock, addr};
	return tw_ordering_advance(t);
}

void tw_ordering_settle(struct tw_ordering *o, const struct tw_ordering_thread *t)
{
	size_t n = 0;
	for (size_t i = 0; i < o->n_early; i++)
		if (o->early[i].reader != t->index)
			o->early[n++] = o->early[i];
	o->n_early = n;
}

/* The thread has written it. */
static int note_write(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr)
{
	struct tw_ordering_thing *x = tw_ordering_thing(o, t->program, addr, TW_ROLE_ATOMIC);
	if (!x)
		return TW_ERR_MEMORY;
	x->releases++;
	x->writer = t->index + 1;
	return 0;
}

static int note_read(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr)
{
	const struct tw_ordering_thing *x = tw_ordering_thing(o, t->program, addr, TW_ROLE_ATOMIC);
	return x ? tw_clocks_join(&t->clocks, &x->clocks) : TW_ERR_MEMORY;
}

int tw_ordering_atomic(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, int reads, int writes)
{
	int error = reads ? note_read(o, t, addr) : 0;
	if (error || !writes)
		return error;
	error = tw_ordering_release_to(o, t, addr, TW_ROLE_ATOMIC);
	error = error ? error : note_write(o, t, addr);
	return error ? error : tell_early(o, t, addr);
}

int tw_ordering_atomic_counts(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr)
{
	return note_write(o, t, addr);
}

/* The variable; one that nobody knows yet is all zeros. */
static const struct tw_ordering_thing *atomic_of(const struct tw_ordering *o, uint32_t program, uint64_t addr)
{
	static const struct tw_ordering_thing none;
	const struct tw_place p = place_for(o, program, addr, TW_ROLE_ATOMIC);
	return o->n_things ? &o->things[place_of(o, p.program, p.addr, TW_ROLE_ATOMIC)] : &none;
}

int tw_ordering_atomic_tells(const struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr)
{
	return !tw_clocks_know(&t->clocks, &atomic_of(o, t->program, addr)->clocks);
}

uint64_t tw_ordering_atomic_writes(const struct tw_ordering *o, uint32_t program, uint64_t addr)
{
	return atomic_of(o, program, addr)->releases;
}

size_t tw_ordering_atomic_writer(const struct tw_ordering *o, uint32_t program, uint64_t addr)
{
	return atomic_of(o, program, addr)->writer;
}

const struct tw_clocks *tw_ordering_atomic_clocks(const struct tw_ordering *o, uint32_t program, uint64_t addr)
{
	return &atomic_of(o, program, addr)->clocks;
}
