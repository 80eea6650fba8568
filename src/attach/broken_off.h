/*
 * The system call that stopping a thread has interrupted, if any: which one, and how it continues.
 */
#ifndef TW_BROKEN_OFF_H
#define TW_BROKEN_OFF_H

#include "base/attach.h"

#include <sys/user.h>

/* For a thread that was stopped with these registers. */
enum tw_attach_call tw_broken_off(const struct user_regs_struct *r);

#endif
