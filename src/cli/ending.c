#include "cli/ending.h"
#include "base/text.h"
#include "channel/where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tw_ending_size(struct tw_ending *e, const char *text)
{
	e->size = text;
	return *text != '0' && tw_parse_bytes(text, &e->most_bytes);
}

int tw_ending_time(struct tw_ending *e, const char *text)
{
	struct tw_where where;
	e->time = text;
	if (!tw_where_parse(text, &where) || where.kind != TW_WHERE_TIME)
		return 0;
	e->most_ns = where.value;
	return where.value != 0;
}

const char *tw_ending_text(struct tw_ending *e)
{
	if (!e->size && !e->time)
		return NULL;
	snprintf(e->text, sizeof e->text, "%s%s%s%s%s", e->size ? "--max-size=" : "", e->size ? e->size : "",
	         e->size && e->time ? " or " : "", e->time ? "--max-time=" : "", e->time ? e->time : "");
	return e->text;
}

void tw_ending_tell(const struct tw_ending *e, enum tw_limit reached)
{
	if (reached == TW_LIMIT_BYTES)
		fprintf(stderr, "trackway: recording ended at --max-size=%s; the program went on\n", e->size);
	else if (reached == TW_LIMIT_TIME)
		fprintf(stderr, "trackway: recording ended at --max-time=%s; the program went on\n", e->time);
}
