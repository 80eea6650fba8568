/*
 * System calls with a timeout that the kernel does not resume by itself after an interruption: they must be repeated
 * with the time that is left.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TW_TIMED_CALL_H
#define TW_TIMED_CALL_H

#include <stdint.h>

struct tw_timed_call {
	uint16_t number;
	uint8_t reg;   /* enum tw_reg: where the time is */
	uint8_t in_ms; /* in milliseconds; else at the address of a struct timespec */
};

/* NULL: it is none of them. */
static inline const struct tw_timed_call *tw_timed_find(uint64_t number)
{
	enum { RDX = 2, R8 = 8, R10 = 10 };
	static const struct tw_timed_call calls[] = {
	    {232, R10, 1}, /* epoll_wait */
	    {281, R10, 1}, /* epoll_pwait */
	    {441, R10, 0}, /* epoll_pwait2 */
	    {128, RDX, 0}, /* rt_sigtimedwait */
	    {220, R10, 0}, /* semtimedop */
	    {208, R8, 0},  /* io_getevents */
	    {333, R8, 0},  /* io_pgetevents */
	};
	for (uint32_t k = 0; k < sizeof calls / sizeof *calls; k++)
		if (calls[k].number == number)
			return &calls[k];
	return 0;
}

/* A time less this much; a negative time means for ever. */
static inline int64_t tw_timed_less(int64_t from, uint64_t by)
{
	return from < 0 || by >> 62 ? from : from > (int64_t)by ? from - (int64_t)by : 0;
}

#endif
