/*
 * Memory whose pages are expensive ("dear") to touch for the first time: on some virtual machines it takes 16 us
 * (elsewhere 0.5 to 1.5), 60 times as much as 4 KB of a huge page.
 */
#ifndef TW_DEAR_H
#define TW_DEAR_H

/* Are pages expensive here? Measured once, by the first caller. */
int tw_dear_pages(void);

#endif
