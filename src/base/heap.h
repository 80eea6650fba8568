/*
 * Settings for malloc's heap, by what the process will do: to be called once, before there are other threads. The
 * heap uses huge pages where that saves touching small ones for the first time, which takes 15 us each where the
 * processor has no nested paging, and one of 2 MB as much as ten of those. Freed memory stays with the process. If
 * memory is limited, nothing is allocated ahead.
 */
#ifndef TW_HEAP_H
#define TW_HEAP_H

/* The process answers from a recording: malloc's first allocations are in huge pages, as far as the kernel provides them on request. */
void tw_heap_to_answer(void);

/* The process stores a recording: if pages are expensive malloc uses huge pages, and threads share one heap. */
void tw_heap_to_store(void);

/* The process records without storing, which takes a few MB: the heap is one piece, shared by all threads. */
void tw_heap_to_count(void);

#endif
