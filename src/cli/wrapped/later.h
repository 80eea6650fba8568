/*
 * Libraries for which the tool has no archives, loaded when one of their functions is first called. Loading one takes
 * a twentieth of the time for recording a short program, which calls none of them. The functions here have the names
 * of the library's and call those. Other symbols that a newer archive needs are linked as usual (ld's --as-needed).
 */
#ifndef TW_LATER_H
#define TW_LATER_H

/* The function of this library, in *at from then on; *at is NULL before. The process ends if it does not exist. */
void *tw_later(void **at, const char *library, const char *function);

/* The body of such a function: returns the result of the library's. */
#define TW_LATER(library, function, ...)                                                                                                   \
	static void *at;                                                                                                                   \
	return ((__typeof__(&(function)))tw_later(&at, library, #function))(__VA_ARGS__)

#endif
