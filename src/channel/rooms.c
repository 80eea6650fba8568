#include "channel/rooms.h"
#include "channel/clear.h"
#include "recording/array.h"
#include "recording/recording.h"
#include "recording/value_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PARTS = TW_ROOM_BYTES / TW_PART_BYTES };

struct room {
	uint8_t *part[PARTS]; /* mapped when there is something in it */
	uint64_t taken;       /* bytes, from the start of the room */
	uint64_t described;   /* bytes of descriptors among them */
	int damaged;          /* nothing more is taken */
	uint64_t put;         /* while it is ending: jobs that had been put */
	uint32_t *stretches;  /* of numbers: the first one of each */
	size_t n_stretches, stretches_room;
	const struct tw_descriptor **entry; /* of tallies: the path each is of, by number; 0 is none's */
	size_t n_entries, entries_room;
	struct tw_value_family values;
};

struct tw_rooms {
	struct tw_rooms_options options;
	uint64_t fragments;
	uint32_t n_used;            /* the highest that something has been taken of */
	struct room room[TW_ROOMS]; /* from room 1 */
};

struct tw_rooms *tw_rooms_new(const struct tw_rooms_options *options)
{
	struct tw_rooms *r = calloc(1, sizeof *r);
	if (r)
		r->options = *options;
	return r;
}

static void empty_room(struct room *room)
{
	for (unsigned i = 0; i < PARTS && room->part[i]; i++)
		munmap(room->part[i], TW_PART_BYTES);
	free(room->stretches);
	free(room->entry);
	tw_value_family_forget(&room->values);
	*room = (struct room){0};
}

void tw_rooms_free(struct tw_rooms *r)
{
	for (uint32_t i = 0; r && i < r->n_used; i++)
		empty_room(&r->room[i]);
	free(r);
}

uint64_t tw_rooms_fragments(const struct tw_rooms *r)
{
	return r->fragments;
}

/* ---- taking ---- */

/* The part of a room that `offset` is in, mapped; NULL: it cannot be. */
static uint8_t *part_at(struct tw_rooms *r, uint32_t number, uint64_t offset)
{
	uint64_t i = offset / TW_PART_BYTES;
	uint8_t **part = &r->room[number - 1].part[i];
	off_t from = (off_t)(tw_room_at(number) + i * TW_PART_BYTES);
	void *at = *part ? *part : mmap(NULL, TW_PART_BYTES, PROT_READ, MAP_SHARED, r->options.fd, from);
	if (at == MAP_FAILED)
		tw_fail(TW_ERR_SYSTEM, "shared memory: %s", strerror(errno));
	else
		*part = at;
	return *part;
}

static int note_stretch(struct room *room, uint32_t number)
{
	uint32_t first = number / TW_STRETCH * TW_STRETCH;
	if (room->n_stretches && room->stretches[room->n_stretches - 1] == first)
		return TW_OK;
	uint32_t *stretches = tw_array_room(room->stretches, room->n_stretches, &room->stretches_room, sizeof *stretches);
	if (!stretches)
		return tw_fail(TW_ERR_MEMORY, "descriptors");
	stretches[room->n_stretches++] = first;
	room->stretches = stretches;
	return TW_OK;
}

/* Where the path is tallied, if it is: entries are given away in the order of descriptors. */
static int note_entry(struct room *room, const struct tw_descriptor *d)
{
	while (room->n_entries <= d->tag) {
		const struct tw_descriptor **entry = tw_array_room(room->entry, room->n_entries, &room->entries_room, sizeof *entry);
		if (!entry)
			return tw_fail(TW_ERR_MEMORY, "descriptors");
		room->entry = entry;
		entry[room->n_entries++] = d;
	}
	return TW_OK;
}

const struct tw_descriptor *tw_rooms_tallied(const struct tw_rooms *r, uint32_t number, uint64_t entry)
{
	const struct room *room = number && number <= TW_ROOMS ? &r->room[number - 1] : NULL;
	return room && entry && entry < room->n_entries ? room->entry[entry] : NULL;
}

/* Valid descriptors, `n` bytes of them. */
static int note_numbers(struct tw_rooms *r, struct room *room, const uint8_t *bytes, uint64_t n)
{
	int error = TW_OK;
	for (const struct tw_descriptor *d; n && !error; bytes += d->bytes, n -= d->bytes) {
		d = (const struct tw_descriptor *)bytes;
		r->fragments++;
		error = note_stretch(room, d->number);
		if (!error && r->options.control->flags & TW_FLAG_TALLY)
			error = note_entry(room, d);
	}
	return error;
}

/* Takes the descriptors from room->taken to `end`, which are in one part but for zeros at its end. */
static int take_from_part(struct tw_rooms *r, struct room *room, const uint8_t *part, uint64_t end)
{
	const struct tw_rooms_options *o = &r->options;
	const uint8_t *bytes = part + room->taken % TW_PART_BYTES;
	uint64_t n = end - room->taken, used;
	int error = tw_demux_descriptors(o->demux, bytes, n, &used);
	if (error == TW_ERR_DAMAGED && end % TW_PART_BYTES == 0 && !((const struct tw_descriptor *)(bytes + used))->bytes)
		error = TW_OK; /* the rest of the part was too small for the next group */
	if (!error && o->expand)
		error = tw_expand_descriptors(o->expand, bytes, used);
	if (!error)
		error = note_numbers(r, room, bytes, used);
	tw_output_describe(o->output, &room->values, bytes, used);
	room->described += used;
	room->taken = end;
	room->damaged = error != TW_OK;
	return error;
}

int tw_rooms_take(struct tw_rooms *r, uint32_t number)
{
	if (!number || number > TW_ROOMS)
		return TW_OK;
	struct room *room = &r->room[number - 1];
	r->n_used = number < r->n_used ? r->n_used : number;
	const uint8_t *first = part_at(r, number, 0);
	if (!first)
		return TW_ERR_SYSTEM;
	uint64_t used = atomic_load_explicit(&((const struct tw_room *)first)->used, memory_order_acquire);
	int error = TW_OK;
	if (!room->taken)
		room->taken = sizeof(struct tw_room);
	while (!error && !room->damaged && room->taken < used && used <= TW_ROOM_BYTES) {
		uint64_t end = (room->taken / TW_PART_BYTES + 1) * TW_PART_BYTES;
		const uint8_t *part = part_at(r, number, room->taken);
		error = part ? take_from_part(r, room, part, end < used ? end : used) : TW_ERR_SYSTEM;
	}
	return error;
}

/* ---- giving up ---- */

static int give_up(struct tw_rooms *r, uint32_t number)
{
	const struct tw_rooms_options *o = &r->options;
	struct room *room = &r->room[number - 1];
	struct tw_room_state *state = &o->control->room[number - 1];
	struct tw_totals counted = {0};
	tw_output_write_descriptors(o->output);
	for (size_t i = 0; i < room->n_stretches; i++) {
		tw_demux_forget(o->demux, room->stretches[i]);
		tw_output_forget(o->output, room->stretches[i]);
	}
	if (o->expand)
		tw_expand_forget(o->expand, atomic_load(&state->program), &counted);
	tw_output_add(o->output, &counted);
	uint64_t described = room->described;
	empty_room(room);
	int error = tw_clear_range(o->fd, tw_room_at(number), TW_ROOM_BYTES);
	if (error)
		return error; /* and the room is not used again */
	atomic_fetch_sub(&o->control->described, described);
	atomic_store(&state->ending, 0);
	atomic_store(&state->program, 0);
	return TW_OK;
}

static void find_named(const struct tw_control *c, uint8_t named[TW_ROOMS + 1])
{
	memset(named, 0, TW_ROOMS + 1);
	for (uint32_t s = 0; s < TW_SLOTS; s++) {
		uint32_t room = atomic_load(&c->slot[s].state) != TW_SLOT_FREE ? atomic_load(&c->slot[s].room) : 0;
		named[room <= TW_ROOMS ? room : 0] = 1;
	}
}

/* `ending` is set before slots are looked at: what names the room after they were waits until it is said what becomes of it. */
int tw_rooms_sweep(struct tw_rooms *r)
{
	struct tw_control *c = r->options.control;
	uint8_t used[TW_ROOMS + 1] = {0}, named[TW_ROOMS + 1];
	int error = TW_OK;
	for (uint32_t number = 1; number <= TW_ROOMS; number++)
		used[number] = atomic_load(&c->room[number - 1].program) != 0;
	find_named(c, named);
	for (uint32_t number = 1; number <= TW_ROOMS && !error; number++) {
		struct tw_room_state *state = &c->room[number - 1];
		struct room *room = &r->room[number - 1];
		if (!used[number])
			continue;
		if (named[number]) {
			atomic_store(&state->ending, 0);
		} else if (!atomic_load(&state->ending)) {
			room->put = tw_output_put_so_far(r->options.output);
			atomic_store(&state->ending, 1);
		} else if (tw_output_is_done(r->options.output, room->put)) {
			error = give_up(r, number);
		}
	}
	return error;
}
