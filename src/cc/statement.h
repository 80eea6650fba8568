/* Where statements of assembly end. */
#ifndef TW_CC_STATEMENT_H
#define TW_CC_STATEMENT_H

#include <stddef.h>

/* Behind the string that begins at p, of n bytes of text, behind which a zero stands. */
size_t tw_cc_string_end(const char *bytes, size_t n, size_t p);

/* Where the statement that begins at p ends: before a semicolon, a comment, a new line. */
size_t tw_cc_statement_end(const char *bytes, size_t n, size_t p);

#endif
