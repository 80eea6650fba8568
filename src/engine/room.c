#include "engine/room.h"
#include "engine/known.h"
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

static struct tw_room_state *state_of(u32 room)
{
	return &tw_engine.control->room[room - 1];
}

/* Takes a free room, which the slot names before. 0: there is none. */
static u32 take_free(struct tw_slot *s)
{
	for (u32 room = 1; room <= TW_ROOMS; room++) {
		u32 *program = (u32 *)&state_of(room)->program, none = 0;
		if (__atomic_load_n(program, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n((u32 *)&s->room, room, __ATOMIC_SEQ_CST);
		if (__atomic_compare_exchange_n(program, &none, tw_known_program(), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return room;
	}
	return 0;
}

/* Puts it behind the rest of the channel, where there is place for it. */
static bool map(u32 room)
{
	i64 fd = tw_sys(__NR_open, tw_engine.channel_path, O_RDWR | O_CLOEXEC, 0);
	i64 at = tw_failed(fd) ? fd
	                       : tw_mmap((u64)tw_engine.channel + TW_CHANNEL_BYTES, TW_ROOM_BYTES, PROT_READ | PROT_WRITE,
	                                 MAP_SHARED | MAP_NORESERVE | MAP_FIXED, (int)fd, tw_room_at(room));
	tw_sys(__NR_close, fd, 0, 0);
	tw_engine.room = tw_failed(at) ? NULL : (struct tw_room *)at;
	return tw_engine.room;
}

/* Rooms of programs that have ended come free as soon as the collector gets round to it. */
static bool take(struct tw_slot *s)
{
	u32 room;
	while (!(room = take_free(s))) {
		if (!tw_channel_collector_alive(tw_engine.control))
			return false;
		tw_pause(5000);
	}
	tw_engine.room_number = room;
	return map(room);
}

/* The slot names the room: nobody gives it up from now on, unless that has happened already. */
static bool wait_until_ours(void)
{
	struct tw_room_state *state = state_of(tw_engine.room_number);
	while (__atomic_load_n((u32 *)&state->program, __ATOMIC_SEQ_CST) == tw_known_program()) {
		if (!__atomic_load_n((u32 *)&state->ending, __ATOMIC_SEQ_CST))
			return true;
		if (!tw_channel_collector_alive(tw_engine.control))
			return false;
		tw_pause(5000);
	}
	return false;
}

bool tw_room_enter(struct tw_slot *s)
{
	if (!tw_engine.room)
		return take(s);
	__atomic_store_n((u32 *)&s->room, tw_engine.room_number, __ATOMIC_SEQ_CST);
	return wait_until_ours();
}

/* ---- descriptors ---- */

bool tw_room_is_there(void)
{
	if (!tw_engine.room)
		return false;
	const struct tw_room_state *state = state_of(tw_engine.room_number);
	return __atomic_load_n((const u32 *)&state->program, __ATOMIC_RELAXED) == tw_known_program() &&
	       !__atomic_load_n((const u32 *)&state->ending, __ATOMIC_RELAXED);
}

u64 tw_room_place_for(u32 bytes)
{
	struct tw_control *c = tw_engine.control;
	struct tw_room *room = tw_engine.room;
	u64 at = tw_room_place(room->used ? room->used : sizeof *room, bytes);
	return at + bytes <= TW_ROOM_BYTES && c->described + bytes <= c->descriptors_most ? at : 0;
}

void tw_room_publish(u64 offset, u32 bytes)
{
	__atomic_fetch_add((u64 *)&tw_engine.control->described, bytes, __ATOMIC_RELAXED);
	__atomic_store_n((u64 *)&tw_engine.room->used, offset + bytes, __ATOMIC_RELEASE);
}

u32 tw_room_numbers(u32 n)
{
	struct tw_control *c = tw_engine.control;
	struct tw_room *room = tw_engine.room;
	if (room->numbers_end - room->number < n) {
		if (c->next_stretch == (1ull << 32) / TW_STRETCH - 1)
			return 0;
		room->number = c->next_stretch++ * TW_STRETCH;
		room->numbers_end = room->number + TW_STRETCH;
		if ((room->number & 0xffff) < TW_TAG_FIRST)
			room->number += TW_TAG_FIRST;
	}
	u32 first = room->number;
	room->number += n;
	return first;
}
