/*
 * Making threads and processes: clone, clone3, fork, vfork.
 */
#ifndef TW_CLONE_H
#define TW_CLONE_H

#include "engine/kernel/room.h"
#include <linux/sched.h>

/* Before the first thread. False: there is no room. */
bool tw_threads_init(void);

/* A block for a new thread, with each room's part of it empty; NULL when there are too many. */
struct thread *tw_thread_new(void);

/* Makes the calling thread `t`: %gs, alternate stack, ids. */
void tw_thread_adopt(struct thread *t);

/* The kernel's %fs base is the application's. */
void tw_thread_read_fs(struct thread *t);

/* An application's request by clone, clone3, fork or vfork, in clone3's form. */
struct tw_clone {
	struct clone_args args; /* stack: its lowest byte, or with stack_size 0 its end */
	u64 size;               /* of args, as the application gave it */
	bool modern;            /* clone3: to be made as such */
};

/* Result as the kernel's. */
i64 tw_thread_clone(struct thread *t, const struct tw_clone *c);

#endif
