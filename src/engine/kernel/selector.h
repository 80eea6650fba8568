/* Loads of selectors into %fs and %gs: null ones, those of the kernel's flat segments, and those of an LDT or of set_thread_area. */
#ifndef TW_SELECTOR_H
#define TW_SELECTOR_H

#include "engine/kernel/room.h"

/*
 * Performs the mov, pop, lfs or lgs at t->pc and moves t->pc to the next instruction, or raises the fault that it
 * causes for the application.
 */
void tw_selector_load(struct thread *t);

#endif
