/* A source on standard input (`-x c -`): it is saved, since more than one step may read it. */
#ifndef TW_CC_INPUT_H
#define TW_CC_INPUT_H

#include "cc/drive.h"

/* If there is such a source: standard input is now the file in which it is saved. 0, or -1, which is reported. */
int tw_cc_input_keep(const struct tw_cc_drive *d);

/* What to read source k from, to be freed. */
char *tw_cc_input_path(const struct tw_cc_drive *d, size_t k);

/* Standard input begins again, if source k is there. */
void tw_cc_input_again(const struct tw_cc_drive *d, size_t k);

#endif
