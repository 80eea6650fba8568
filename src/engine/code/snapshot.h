/*
 * Snapshots: a process leaves its translations in the store (base/store.h) when it ends, executes another program, or
 * has many that others lack. The next process that runs the same program starts with them. (So do forks, such as a
 * server's, if others have left much more than they inherited.) It maps them copy-on-write where they were, since
 * everything the engine makes of code has its place in the low arena, the same in every process. What is saved is
 * memory as it is: the code cache, the stubs, and the heap with all pointers between them.
 *
 * What must hold for a translation to be right in another process:
 *  - It was made by this engine for this format, from the same bytes at the same address. So only fragments are kept
 *    whose code lies in one module (module.h) and is still in the file: no page of the mapping has become private to
 *    the process (by a debugger, for example), and the bytes have the hash of those that were translated. A block may
 *    not come near the module's end, where another module might follow. Everything else is made stale in the process
 *    that saves, before it saves; if it continues, it still runs correctly. A writable module is examined page by
 *    page, and kept only if much of it is code. A process that starts with it detects all stores into it from the
 *    time it is mapped, and translations of a written page become stale, as always (memory.h).
 *  - It can be reached only while its module is mapped. Program and loader are mapped before anything runs; a
 *    snapshot is taken only if both are the ones it was made with, at the same addresses. Other modules are EXPECTED
 *    until they are mapped: the dispatcher does not find their fragments (tw_module_usable), no exit of another
 *    module is linked to them, and the lookup tables do not contain theirs. So that a warmed-up program need not find
 *    each lookup again, there is a second set of tables (shadows) with those of all modules mapped before the
 *    program's entry; it replaces the first when the last of these has been mapped. Tables are caches: nothing is
 *    lost with their contents.
 *  - Whatever depends on the run and not on the files is in no snapshot: windows, budgets, a program's %gs base other
 *    than 0. A recording with any of these has no snapshots. If calls are recorded, the places after calls go with
 *    the snapshot (record/calls.h).
 *  - If bare code tells what is learned, everything in a snapshot has been told and is not told again. So it is kept
 *    only for recordings whose learn file starts as this one's ended, including all of that. A process that left
 *    something untold because its budget was spent leaves no snapshot.
 *  - If something is recorded, fragment numbers and tally entries are in the code. So a program has numbers that no
 *    other has (base/store.h), and fragments with other numbers are not kept. Descriptors go with the snapshot:
 *    during a recording its table stays, and tables of processes that start with it name it as their base
 *    (base/channel.h). A kept file ends with the image of a table, from which the first process that takes the file
 *    in a recording makes a table. A process that has started with a snapshot takes no other one, since its table has
 *    one base.
 *
 * Saving is done under tw_engine.lock. Other threads may run meanwhile: they run code, and change nothing without the
 * lock; what is private to one of them becomes public then. Only a process with one thread exchanges its translations
 * for another snapshot. The first process of a recording, which may be the only one, saves only if snapshots are kept
 * for the next recording (channel/keep.h); its forks may save in any case. Snapshots kept by an earlier recording are
 * taken from their file as from the store. Two processes that save at the same time do not collide: one is the writer
 * of its program's entry. One that dies while saving only wastes room. A better snapshot, of a process that had to
 * translate much more, is placed beside the old one. So is one of a process that had to translate a little, if
 * others, also in earlier recordings, lacked about as much as it costs to write. If anything fails (no store, no
 * room, no descriptor left, no collector), translation works as always.
 */
#ifndef TW_SNAPSHOT_H
#define TW_SNAPSHOT_H

#include "engine/code/room.h"

/*
 * Program and loader are mapped, nothing is translated: takes their snapshot, if there is one. The program's
 * arguments tell the kind of process.
 */
void tw_snapshot_take(char *const *argv);

/*
 * The process is a fork, which has its parent's translations: takes the existing snapshot, if others like it have
 * left a much better one. On return the fragments and exits it knew may be gone.
 */
void tw_snapshot_forked(const struct thread *t);

/*
 * After a system call. If large modules have been mapped, what was translated before the program's entry is discarded
 * once (below). A long-running process may be killed, so it leaves what it has when that is much more than there is.
 * Forks that run side by side come to have the same translations, each in its own memory, which exceeds the caches: a
 * fork whose translations have settled leaves a snapshot while it runs, and its siblings and the fork itself continue
 * with that. On return the fragments and exits that existed may be gone.
 */
void tw_snapshot_look(const struct thread *t);

/*
 * The process is about to end, by itself or by a signal that was sent to it, or to become another program: leaves a
 * snapshot if there is none or its own has become much better.
 */
void tw_snapshot_leave(const struct thread *t);

#endif
