/*
 * The engine's end of descriptor tables: where the processes of one program keep the descriptors they make (base/channel.h has what must hold). A process maps
 * the table of its program when its first thread gets a slot, and its forks inherit it.
 */
#ifndef TW_ENGINE_DESCRIPTOR_TABLE_H
#define TW_ENGINE_DESCRIPTOR_TABLE_H

#include "engine/record/room.h"

/*
 * A thread has reserved this slot: has it name the table of the program, which gets one if it has none. False: it cannot record, since it has come too
 * late (its parent was killed while it made it, and the table given up), or the collector has died.
 */
bool tw_table_enter(struct tw_slot *s);

/*
 * Is there a table to describe fragments in? Who has no slot must look: without one there is only for who shares the memory of a thread that
 * has (a vforked child that is not followed).
 */
bool tw_table_is_there(void);

/*
 * Is the table mapped as far as it is used, and so many bytes more? Else tw_table_map maps more of it, where there is memory for that (false: there is none): of a process whose memory is limited, a
 * table is mapped as far as it is used. Where it has no room for as many bytes it need not be.
 */
bool tw_table_is_mapped(u32 bytes);
bool tw_table_map(u32 bytes);

/* A place for `bytes` of descriptors in a table that is mapped as far, to be published by tw_table_publish, under the descriptor lock: an offset in the table. 0: it is full. */
u64 tw_table_place_for(u32 bytes);

/*
 * Zeros from where descriptors end up to `end`, where the table is mapped: who held the lock before may not have finished there. The rest of a part that a group does not fit in any more is read, too.
 * Under the descriptor lock.
 */
void tw_table_clear_rest(u64 end);
void tw_table_publish(u64 offset, u32 bytes);

/* The first of n numbers with the same upper half. 0: there are no more. Under the descriptor lock. */
u32 tw_table_numbers(u32 n);

/*
 * The n upper halves of a file that was kept are this entry's of the store, `number` is the next one to be drawn. False: another has claimed one of them. By who loads the file, before
 * anybody draws numbers.
 */
bool tw_table_claim(u32 claimant, const u16 *upper, u32 n, u32 number);

/* The process's table stays until the recording ends, since its descriptors are a snapshot's. False: too many do already. */
bool tw_table_stay(void);

/* A table that stays, with these bytes of a file, which is the image of one; its descriptors become this process's. 0: it cannot be had. */
u32 tw_table_load(int fd, u64 at, u64 bytes);

#endif
