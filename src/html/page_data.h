/* The data of a page, as JSON: see page_data.c for its members. */
#ifndef TW_PAGE_DATA_H
#define TW_PAGE_DATA_H

#include "html/page.h"

/* `served`: without code of functions. */
void tw_page_data(struct tw_page *p, FILE *f, int served);

#endif
