/*
 * Snapshots: a process that ends, executes another program, or runs on with much that others lack, leaves its translations in the store (base/store.h), and the next one that runs the same
 * program begins with them (so do forks, such as a server's, if others have left much more than they have of their parent): it maps them copy-on-write
 * where they were, for everything the engine makes of code has its place in the low arena, the same in every
 * process. What is saved is memory as it is: the code cache, the stubs, and the heap with all that points from one to the other.
 *
 * What must hold for a translation to be right in another process:
 *  - It was made by this engine for this format, from the same bytes at the same address. So only fragments whose code lies in one module (module.h) are
 *    kept, and is in the file to this day: no page of the mapping has become private to the process (by a debugger, say), and the bytes there
 *    have the hash of those it was made from. A block may not come near the module's end, where another's might follow. Everything else is made stale in
 *    the process that saves, before it does; it goes on correctly if it has to. A module that can be written is looked at page by page, and kept only if much of it is code: who begins with it has
 *    stores into all of it seen from when it is mapped, and what is on a page that is written is stale from then on, as always (memory.h).
 *  - It can be reached only while its module is mapped. Program and loader are, before anything runs; a snapshot is taken only if both are the ones it was made
 *    with, at their places. The modules behind them are EXPECTED until they are mapped: the dispatcher finds nothing of them (tw_module_usable), no exit of
 *    another module's is linked to them, and the tables of lookups hold none of theirs. So that a warmed-up program need not find each lookup
 *    again, there is a second set of tables (shadows) with those of all modules mapped before the program's entry; it takes the
 *    place of the first when the last of them has been mapped. Tables are caches: nothing is lost with what they held.
 *  - What depends on the run and not on the files is in no snapshot: windows, budgets, a program's %gs base other than 0. A
 *    recording that has any of these has no snapshots. Where calls are told, places behind them go with it (record/calls.h).
 *  - Where bare code tells what is learned, what is in a snapshot has been told, and is not told again. So it is kept only for recordings whose learn file begins as this one's ended, with all of that.
 *    A process that left something untold, for its budget was spent, leaves none.
 *  - Where something is recorded, fragment numbers and entries of tallies are in the code. So a program has numbers that no other has (base/store.h), and what has others is not kept. Descriptors
 *    go with the snapshot: in a recording its table stays, and those of the processes that begin with it name that as their base (base/channel.h); a file that is kept ends with the
 *    image of a table, which the first that takes it in a recording makes a table of. A process that has begun goes on with no other snapshot, since its table has one base.
 *
 * Saving is done under tw_engine.lock. Other threads may run meanwhile: they run code, and change nothing without the lock; what is private to one of them is for all then. What
 * is there is changed for another snapshot only by a process of one thread. It is done by the first of a recording, which may be the only one, only if snapshots are kept for the
 * next recording (channel/keep.h; its forks may in any case). What an earlier recording kept is taken from its file as from the store.
 * Two that save at the same time do not meet: one is the writer of its program's entry. One that dies at it leaves nothing but lost room. A better snapshot, of a process
 * that had to translate much more, goes beside the old one; so does one of a process that had to translate a little, when others, also in earlier recordings, have had to make as much for want of it as
 * it costs to write. Whatever fails (no store, no room, no descriptor left, no collector), translation is
 * done as ever.
 */
#ifndef TW_SNAPSHOT_H
#define TW_SNAPSHOT_H

#include "engine/code/room.h"

/* Program and loader are mapped, nothing is translated: takes the snapshot there is of them, if any. The program's arguments tell what kind of process it is. */
void tw_snapshot_take(char *const *argv);

/*
 * The process is a fork, which has its parent's translations: takes the snapshot there is, if others like it have left one that is much better. On return
 * the fragments and exits it knew may be gone.
 */
void tw_snapshot_forked(const struct thread *t);

/*
 * After a system call. What is translated before the program's entry is thrown away once where large modules have been mapped (below). A process that lives on may be killed: it leaves what it has when that is much more than there is. Forks that live on beside each other come to have the same translations each in memory of its own, which caches have no room for: a
 * fork whose translations have settled leaves a snapshot while it runs, and its brothers, itself too, go on with that. On return the fragments and exits
 * that there were may be gone.
 */
void tw_snapshot_look(const struct thread *t);

/* The process is about to end, by itself or by a signal that was sent to it, or to become another program: leaves a snapshot if there is none or it has become much better. */
void tw_snapshot_leave(const struct thread *t);

#endif
