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

/* Once per process: the engine's handler for the synchronous signals. Dispositions inherited from before stay: `ignored`, a set; NULL: those that the kernel has. */
void tw_action_init(tw_handler handler, const u64 *ignored);

/* A new thread's dispositions: its parent's own table (CLONE_SIGHAND), or a copy of it. Before tw_action_thread. */
void tw_action_share(struct thread *child, struct thread *parent, bool shared);

/* A thread that was given none has its process's. In the first process of a namespace, which is spared its core dumps, the kernel has these signals to itself. */
void tw_action_thread(struct thread *t);

/* CLONE_CLEAR_SIGHAND: handlers become SIG_DFL. */
void tw_action_clear_handlers(struct thread *t);

/*
 * For execve, which keeps what is ignored: the kernel ignores those synchronous signals that the application does, or has the engine's handler again. Nothing may fault
 * meanwhile; so not where other threads run. (A new program under the engine is told; a native one finds SIG_DFL then.)
 */
void tw_action_tell_ignored(const struct thread *t, bool told);

/* The kernel has the application's own, as natively. */
void tw_action_give_back(const struct thread *t);

/* Nobody changes dispositions meanwhile (fork). */
void tw_action_lock(void);
void tw_action_unlock(void);

bool tw_action_has_handler(const struct ksigaction *a);

/* The action for a signal that is delivered now; `to_handler`: to the handler, if there is one, which is taken away with that if it is for one time. */
struct ksigaction tw_action_take(struct thread *t, int signo, bool to_handler);

/* rt_sigaction: the kernel's result. */
i64 tw_action_set(struct thread *t, int signo, u64 act, u64 old, u64 size);

#endif
