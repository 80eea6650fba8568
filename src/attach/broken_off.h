/*
 * The system call that stopping a thread has broken off, if it has: which it is, and how it goes on.
 */
#ifndef TW_BROKEN_OFF_H
#define TW_BROKEN_OFF_H

#include "base/attach.h"

#include <sys/user.h>

/* For a thread that was stopped with these registers. */
enum tw_attach_call tw_broken_off(const struct user_regs_struct *r);

#endif
