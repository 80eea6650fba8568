/*
 * The engine's end of descriptor tables: where the processes of one program store their descriptors (base/channel.h
 * has the invariants). A process maps the table of its program when its first thread gets a slot, and its forks
 * inherit it.
 */
#ifndef TW_ENGINE_DESCRIPTOR_TABLE_H
#define TW_ENGINE_DESCRIPTOR_TABLE_H

#include "engine/record/room.h"

/*
 * A thread has reserved this slot: sets the slot's table to the program's, which gets one if it has none. False: it
 * cannot record, because it was too late (its parent was killed while creating it, and the table was released), or
 * the collector has died.
 */
bool tw_table_enter(struct tw_slot *s);

/*
 * Is there a table to describe fragments in? A thread without a slot must check: without one, a table exists only if
 * it shares the memory of a thread that has a slot (a vforked child that is not followed).
 */
bool tw_table_is_there(void);

/*
 * Is the table mapped as far as it is used plus this many bytes? If not, tw_table_map maps more of it, if there is
 * memory for that (false: there is none). If a process's memory is limited, its table is mapped only as far as it is
 * used. If the table has no room for this many bytes, they need not be mapped.
 */
bool tw_table_is_mapped(u32 bytes);
bool tw_table_map(u32 bytes);

/*
 * A place for `bytes` of descriptors in a table that is mapped far enough, to be published by tw_table_publish, under
 * the descriptor lock: an offset in the table. 0: it is full.
 */
u64 tw_table_place_for(u32 bytes);

/*
 * Writes zeros from the end of the descriptors up to `end`, where the table is mapped: the previous holder of the
 * lock may not have finished there. The rest of a part into which a group no longer fits is read, too. Under the
 * descriptor lock.
 */
void tw_table_clear_rest(u64 end);
void tw_table_publish(u64 offset, u32 bytes);

/* The first of n numbers with the same upper half. 0: there are no more. Under the descriptor lock. */
u32 tw_table_numbers(u32 n);

/*
 * The n upper halves of a kept file belong to this entry of the store; `number` is the next one to be drawn. False:
 * another entry has claimed one of them. Called by the process that loads the file, before anybody draws numbers.
 */
bool tw_table_claim(u32 claimant, const u16 *upper, u32 n, u32 number);

/* The process's table stays until the recording ends, since its descriptors belong to a snapshot. False: too many tables stay already. */
bool tw_table_stay(void);

/*
 * A table that stays, made from these bytes of a file, which are the image of one; its descriptors become this
 * process's. 0: not possible.
 */
u32 tw_table_load(int fd, u64 at, u64 bytes);

#endif
