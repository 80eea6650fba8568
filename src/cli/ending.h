/*
 * Limits at which recording ends while the program continues: record --max-size and --max-time.
 */
#ifndef TW_CLI_ENDING_H
#define TW_CLI_ENDING_H

#include "channel/collector.h"

struct tw_ending {
	const char *size, *time; /* as given; NULL: no limit */
	uint64_t most_bytes, most_ns;
	char text[128];
};

/* Parse the values of the options: bytes, or a number with k, M or G (powers of 1024); a time, as 90s or 300ms. 0: invalid. */
int tw_ending_size(struct tw_ending *e, const char *text);
int tw_ending_time(struct tw_ending *e, const char *text);

/* The limits as options, in e->text; NULL: there are none. */
const char *tw_ending_text(struct tw_ending *e);

/* Says on stderr which limit ended recording, if one did. */
void tw_ending_tell(const struct tw_ending *e, enum tw_limit reached);

#endif
