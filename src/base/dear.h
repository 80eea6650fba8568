/*
 * Memory where a page that is touched for the first time is dear: on some virtual machines it takes 16 us (elsewhere 0.5 to 1.5), as much as 4 KB of a huge page take 60 times.
 */
#ifndef TW_DEAR_H
#define TW_DEAR_H

/* Are pages dear here? Measured once, by the first that asks. */
int tw_dear_pages(void);

#endif
