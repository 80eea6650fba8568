/* C++ and Rust names as people write them. */
#ifndef TW_DEMANGLE_H
#define TW_DEMANGLE_H

/* The readable form of a linker's name, the caller's to free(). NULL: the name is not mangled, or there is no memory. */
char *tw_demangle(const char *name);

#endif
