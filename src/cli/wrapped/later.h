/*
 * Libraries that the tool has no archives of, or that are loaded when something of them is called for the first time. To load one takes as long as a twentieth of the recording of a short program, which
 * calls nothing of them. Functions of a library that stand here, of the same names, call those of the library; what a newer archive wants beside them is linked as ever (ld's --as-needed).
 */
#ifndef TW_LATER_H
#define TW_LATER_H

/* The function of this library, at *at from then on, where it is NULL until then. Without it there is no going on: the process ends. */
void *tw_later(void **at, const char *library, const char *function);

/* The body of such a function: what the library's of this name gives. */
#define TW_LATER(library, function, ...)                                                                                                   \
	static void *at;                                                                                                                   \
	return ((__typeof__(&(function)))tw_later(&at, library, #function))(__VA_ARGS__)

#endif
