/*
 * The few macros of the unit tests. A unit test is a main() that calls CHECK and EQUAL any number of times and returns UNIT_END().
 */
#ifndef TW_UNIT_H
#define TW_UNIT_H

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static int unit_passed, unit_failed;

static inline void unit_check(int ok, const char *file, int line, const char *what)
{
	if (ok) {
		unit_passed++;
		return;
	}
	unit_failed++;
	fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
}

static inline void unit_equal(long long a, long long b, const char *file, int line, const char *what)
{
	unit_check(a == b, file, line, what);
	if (a != b)
		fprintf(stderr, "\tfound %lld (0x%llx), expected %lld (0x%llx)\n", a, (unsigned long long)a, b, (unsigned long long)b);
}

static inline int unit_end(void)
{
	printf("%d passed, %d failed\n", unit_passed, unit_failed);
	return unit_failed != 0;
}

/* Page faults of this process until now that took nothing from a disk. */
static inline long unit_faults(void)
{
	struct rusage u;
	return getrusage(RUSAGE_SELF, &u) ? -1 : u.ru_minflt;
}

/* The condition holds. */
#define CHECK(condition) unit_check(!!(condition), __FILE__, __LINE__, #condition)

/* Two integers, or two strings, are equal: found, expected. */
#define EQUAL(found, expected)     unit_equal((long long)(found), (long long)(expected), __FILE__, __LINE__, #found " == " #expected)
#define SAME_TEXT(found, expected) unit_check(!strcmp(found, expected), __FILE__, __LINE__, #found " is " #expected)

#define UNIT_END() unit_end()

#endif
