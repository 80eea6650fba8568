/*
 * `trackway cc --wrap`: a directory of commands with the names of compilers, each of which runs `trackway cc` in
 * front of the compiler of that name.
 *
 * What must hold: a command never calls itself. The compiler after it may look for one of its own name in PATH, as
 * ccache does if it is installed under a compiler's name; so compilers run by these commands do not have the
 * directory in their PATH.
 */
#ifndef TW_CC_WRAP_H
#define TW_CC_WRAP_H

#include <stddef.h>

/* Makes the directory, and a command in it for each compiler in PATH, with these options of `trackway cc`. 0, or -1 with errno set. */
int tw_cc_wrap(const char *directory, char *const *option, size_t n_options);

/* Takes the directory out of this process's PATH. */
void tw_cc_hide(const char *directory);

#endif
