/* A page (page.h) as one file of HTML. */
#ifndef TW_HTML_PAGE_WRITE_H
#define TW_HTML_PAGE_WRITE_H

#include "html/page.h"

/* The page; `served`: without code of functions, which is asked for. The stream's errors are the caller's to see. */
void tw_page_write(struct tw_page *p, FILE *f, int served);

#endif
