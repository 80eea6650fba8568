/*
 * malloc's heap, for what the process is going to do: to be said once, before there are other threads. The heap is in huge pages where that saves touching small ones for the first time, which takes 15 us each
 * where the processor has no nested paging, and one of 2 MB as much as ten of those. Memory that is freed stays with the process. Where memory is limited, nothing is taken ahead.
 */
#ifndef TW_HEAP_H
#define TW_HEAP_H

/* It answers from a recording: what malloc gives out first is in huge pages, as far as the kernel has some for who asks. */
void tw_heap_to_answer(void);

/* It stores a recording: where pages are dear what malloc gives is in huge pages, and threads share one heap. */
void tw_heap_to_store(void);

/* It records what it does not store, which wants a few MB: they are one piece, and threads have none of their own. */
void tw_heap_to_count(void);

#endif
