/* The link of `trackway cc`: it gets the run-time part, and what has been linked is finished (finish.h). */
#ifndef TW_CC_LINK_H
#define TW_CC_LINK_H

#include "cc/drive.h"

/* Links the objects that have been made and what the command names. Exit status. */
int tw_cc_link(const struct tw_cc_drive *d);

#endif
