/* C++ and Rust names as people write them. */
#ifndef TW_DEMANGLE_H
#define TW_DEMANGLE_H

/* The readable form of a mangled name; the caller frees it. NULL: the name is not mangled, or no memory. */
char *tw_demangle(const char *name);

#endif
