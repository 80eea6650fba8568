/*
 * What a recording says about the machine it was made on.
 */
#ifndef TW_MACHINE_H
#define TW_MACHINE_H

#include <trackway/descriptor.h>

/* Layout of the extended state, from CPUID leaf 0xD and XCR0. */
void tw_machine_xstate(struct tw_xstate *out);

/* The processor's name, without needless blanks; "" if it does not say. */
void tw_machine_cpu(char name[64]);

#endif
