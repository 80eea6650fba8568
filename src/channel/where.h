/*
 * WHERE of `record --start` and `--stop`, and of analyzers' windows: a function, an address, a time or an instruction
 * count, as text.
 */
#ifndef TW_WHERE_H
#define TW_WHERE_H

#include "base/channel.h"

/*
 * FUNCTION, MODULE!FUNCTION, 0xADDRESS in memory, MODULE!0xADDRESS (the file's own, as nm prints it; it is in value,
 * without a function), NUMBERs, NUMBERms, NUMBERus or NUMBERns (time since the start; may have decimals), or NUMBERi
 * (instructions; k, M or G may precede the i). 0: none of these.
 */
int tw_where_parse(const char *text, struct tw_where *where);

#endif
