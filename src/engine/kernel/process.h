/*
 * Processes: what is reported of them to the recording (the programs they run, how their children ended), and what
 * they read of themselves and each other in /proc: the link `exe` of a recorded process names the engine, and is
 * answered with the program.
 */
#ifndef TW_PROCESS_H
#define TW_PROCESS_H

#include "engine/kernel/room.h"
#include <asm/siginfo.h>
#include <asm/signal.h>

/* This process is about to run tw_engine.program_path with these arguments (of the kernel's making, NULL-terminated). */
void tw_process_tell_program(struct thread *t, char *const *argv);

/*
 * The application's wait4 or waitid has returned this: reports how the child ended, if it did. `status` and `info`
 * are the application's, or the engine's own in place of them; they may be unreadable.
 */
void tw_process_tell_wait4(struct thread *t, i64 result, const i32 *status);
void tw_process_tell_waitid(struct thread *t, i64 result, const siginfo_t *info);

/* Is there a recorded process of this pid, this one or another? */
bool tw_process_is_recorded(u32 pid);

/* Are there several PID namespaces, in which processes may have the same numbers? */
bool tw_process_has_namespaces(void);

/*
 * The slots (indexes) of the thread whose directory in /proc this is, where it has number `tid`, and of the first
 * thread of its process. False: it is not recorded.
 */
bool tw_process_shown(const char *directory, u32 tid, u32 *slot, u32 *first);

/* tw_slot.trace of this recorded thread, or NULL. */
u32 *tw_process_trace(u32 tid);

/* Is this process traced (ptrace) by a recorded one? */
bool tw_process_traced(void);

/* This process asks for another PID namespace, for itself or its children. */
void tw_process_tell_namespace(void);

/* Can this process, in its present state, execute the engine and open the channel there? */
bool tw_process_reaches_engine(void);

/*
 * The program of the process whose `exe` link in /proc is named by the application's string `path`, relative to the
 * directory `dir` (AT_FDCWD: the current one). NULL: it names something else, or a process that is not recorded. The
 * string stays valid as long as that process runs.
 */
const char *tw_process_exe(i32 dir, u64 path);

#endif
