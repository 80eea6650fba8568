/*
 * The third part of tw_cc_code_match() (code.h): where control leads, by branches and by the references of data,
 * operands and labels.
 */
#ifndef TW_CC_LEADS_H
#define TW_CC_LEADS_H

#include "cc/code.h"

/* Also says of operands what linkers fill in. 0, or -1: there is no memory. */
int tw_cc_leads_find(struct tw_cc_code *c);

#endif
