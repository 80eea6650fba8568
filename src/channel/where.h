/*
 * WHERE of `record --start` and `--stop`, and of analyzers' windows: a function, an address, a time or an instruction
 * count, as text.
 */
#ifndef TW_WHERE_H
#define TW_WHERE_H

#include "base/channel.h"

/*
 * FUNCTION, MODULE!FUNCTION, 0xADDRESS in memory, MODULE!0xADDRESS (a file's own, as nm prints it; value has it, and there is no function), NUMBERs, NUMBERms, NUMBERus or NUMBERns (time since the start; decimals), or NUMBERi (instructions; k, M or G may stand before the i).
 * 0: the text is none of these.
 */
int tw_where_parse(const char *text, struct tw_where *where);

#endif
