/*
 * The heap on huge pages. A command that answers from a small recording spends a third of its time on pages that it touches for the first time, where the processor has no
 * nested paging: a page of 4 KB then costs 15 us, and one of 2 MB as much as ten of those.
 */
#ifndef TW_HEAP_H
#define TW_HEAP_H

/*
 * What malloc gives out first lies on huge pages, as far as the kernel has some for who asks; freed memory stays with the process. To be called
 * before there are other threads. Where memory is limited, all stays as it was.
 */
void tw_heap_begin(void);

#endif
