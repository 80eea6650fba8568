/*
 * WHERE of `record --start` and `--stop`: a function, an address, a time or a count of instructions, as words.
 */
#ifndef TW_WHERE_H
#define TW_WHERE_H

#include "channel/channel.h"

/*
 * FUNCTION, MODULE!FUNCTION, 0xADDRESS, NUMBERs or NUMBERms (time since the start; decimals), or NUMBERi (instructions; k, M or G may stand before the i).
 * 0: the text is none of these.
 */
int tw_where_parse(const char *text, struct tw_where *where);

#endif
