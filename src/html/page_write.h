/* A page (page.h) as one file of HTML. */
#ifndef TW_HTML_PAGE_WRITE_H
#define TW_HTML_PAGE_WRITE_H

#include "html/page.h"

/* Writes the page; `served`: without the code of functions, which the page requests. The caller checks the stream for errors. */
void tw_page_write(struct tw_page *p, FILE *f, int served);

#endif
