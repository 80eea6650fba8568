#include "engine/record/tally.h"
#include "engine/record/buffer.h"
#include <asm/unistd.h>
#include <linux/mman.h>

/* ---- the window ---- */

static u64 *window(const struct thread *t)
{
	return (u64 *)((u8 *)t + T_WINDOW);
}

/* mremap of a shared mapping with length 0 maps the same memory once more. It requires that a few mappings are left. */
static bool map_again(const struct thread *t, const u64 *slots)
{
	const u64 bytes = tw_tally_bytes(tw_sizes());
	const i64 r = tw_sys6(__NR_mremap, (u64)slots, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (u64)window(t), 0);
	return !tw_failed(r) && !tw_sys(__NR_mprotect, window(t), bytes, PROT_READ | PROT_WRITE);
}

/* The same by way of the file. */
static bool map_file(const struct thread *t, const u64 *slots)
{
	const i64 fd = tw_channel_open();
	if (tw_failed(fd))
		return false;
	const i64 r = tw_mmap((u64)window(t), tw_tally_bytes(tw_sizes()), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, (int)fd,
	                      (u64)slots - (u64)tw_engine.channel);
	tw_sys(__NR_close, fd, 0, 0);
	return !tw_failed(r);
}

bool tw_tally_open(struct thread *t)
{
	const u64 *slots = tw_channel_tally(tw_engine.channel, t->record->slot);
	return map_again(t, slots) || map_file(t, slots);
}

/* Shared: so it counts against no limit on the program's data. */
bool tw_tally_close(struct thread *t)
{
	const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
	return !tw_failed(tw_mmap((u64)window(t), tw_tally_bytes(tw_sizes()), PROT_READ | PROT_WRITE, flags, -1, 0));
}

/* ---- counting ---- */

static void add(const struct thread *t, u32 entry, u64 n)
{
	window(t)[entry] += n;
}

/* The path's record stands at `start`. */
static void tally(struct thread *t, const struct tw_recorded *f, u8 path, u64 start)
{
	if (f->tally)
		add(t, f->tally + path, 1);
	else
		tw_buffer_tell(t, f, NULL, (const void *)start, tw_path_bytes(f, path));
}

/* `start`: the record of the loop's last iteration. Before it stands the record with the number of iterations before that. */
static void tally_turns(struct thread *t, const struct tw_recorded *f, u64 start)
{
	const u8 *record = (const u8 *)start - LOOP_RECORD_BYTES;
	u64 turns;
	memcpy(&turns, record + 2, sizeof turns);
	if (f->tally)
		add(t, tw_tally_turns_entry(f), turns);
	else
		tw_buffer_tell(t, f, NULL, record, LOOP_RECORD_BYTES);
}

void tw_tally_tell(struct thread *t, const struct tw_recorded *f, u8 path)
{
	if (f->map.c_reg != TW_NOREG)
		tally_turns(t, f, t->bufptr);
	tally(t, f, path, t->bufptr);
}

static void take_back(struct thread *t, const struct tw_recorded *f, u8 path)
{
	if (f->tally)
		add(t, f->tally + path, (u64)-1);
	else
		tw_buffer_untell(t, tw_path_bytes(f, path));
}

void tw_tally_interrupted(struct thread *t, const struct tw_recorded *f, const struct state_entry *s, u64 start)
{
	const bool done = s->flags & STATE_DONE, tallied = s->flags & (STATE_TALLIED | STATE_CLOSED);
	if (f->map.c_reg != TW_NOREG && !(s->flags & (STATE_TURNS | STATE_CLOSED)))
		tally_turns(t, f, start);
	if (done && !tallied)
		tally(t, f, s->path, start);
	else if (!done && tallied)
		take_back(t, f, s->path);
}
