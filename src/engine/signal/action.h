/*
 * What the application wants done with each signal (sigaction(2)). The kernel has the engine's handler in place of
 * each of the application's, for all synchronous signals, and for signals whose default action is to dump core or
 * that are used to ask programs to end. For these the engine prepares the end (death.h): translations are left to
 * others. All other signals are left to the kernel.
 */
#ifndef TW_ACTION_H
#define TW_ACTION_H

#include "engine/signal/room.h"

struct tw_ucontext;
typedef void (*tw_handler)(int signo, siginfo_t *info, struct tw_ucontext *uc);

/*
 * Once per process: installs the engine's handler for synchronous signals. Inherited dispositions are preserved:
 * `ignored`, a set; NULL: the kernel's present ones.
 */
void tw_action_init(tw_handler handler, const u64 *ignored);

/* A new thread's dispositions: its parent's own table (CLONE_SIGHAND), or a copy of it. Before tw_action_thread. */
void tw_action_share(struct thread *child, struct thread *parent, bool shared);

/*
 * A thread without dispositions of its own uses its process's. In the first process of a namespace, which does not
 * dump core, the kernel handles these signals itself.
 */
void tw_action_thread(struct thread *t);

/* CLONE_CLEAR_SIGHAND: handlers become SIG_DFL. */
void tw_action_clear_handlers(struct thread *t);

/*
 * For execve, which preserves ignored signals: makes the kernel ignore the synchronous signals that the application
 * ignores, or reinstalls the engine's handler. Nothing may fault meanwhile, so this is not done if other threads run.
 * (A new program under the engine is told; a native one then finds SIG_DFL.)
 */
void tw_action_tell_ignored(const struct thread *t, bool told);

/* The kernel has the application's own, as natively. */
void tw_action_give_back(const struct thread *t);

/* Nobody changes dispositions meanwhile (fork). */
void tw_action_lock(void);
void tw_action_unlock(void);

bool tw_action_has_handler(const struct ksigaction *a);

/* The action for a signal that is being delivered; `to_handler`: to the handler, if there is one; a one-time handler is thereby removed. */
struct ksigaction tw_action_take(struct thread *t, int signo, bool to_handler);

/* rt_sigaction: the kernel's result. */
i64 tw_action_set(struct thread *t, int signo, u64 act, u64 old, u64 size);

#endif
