/*
 * Sums of five counts side by side: instructions, blocks, references, reads and writes, 16 bits each, at the start of
 * a struct of 16 bytes. For a number of structs such that no sum reaches 2^32.
 */
#ifndef TW_LANE_SUMS_H
#define TW_LANE_SUMS_H

#include <emmintrin.h>

/* 32 bits each. */
struct tw_lane_sums {
	__m128i insns_to_reads, writes;
};

static inline struct tw_lane_sums tw_lane_sums_none(void)
{
	return (struct tw_lane_sums){_mm_setzero_si128(), _mm_setzero_si128()};
}

static inline void tw_lane_sums_add(struct tw_lane_sums *sums, const void *counts)
{
	const __m128i each = _mm_loadu_si128((const __m128i *)counts), zero = _mm_setzero_si128();
	sums->insns_to_reads = _mm_add_epi32(sums->insns_to_reads, _mm_unpacklo_epi16(each, zero));
	sums->writes = _mm_add_epi32(sums->writes, _mm_unpackhi_epi16(each, zero));
}

#endif
