#include "cli/burst.h"
#include "channel/where.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <stdio.h>

enum { LEAST_NS = 100000 };

static int parse(const char *option, const char *text, uint64_t *ns)
{
	struct tw_where where;
	if (!tw_where_parse(text, &where) || where.kind != TW_WHERE_TIME || where.value < LEAST_NS)
		return tw_usage_error("record", "%s wants a time from 0.1ms, as 10ms or 1s, not '%s'", option, text);
	*ns = where.value;
	return 0;
}

int tw_burst_check(struct tw_burst_asked *a)
{
	if (!a->burst && !a->every)
		return 0;
	if (!a->burst || !a->every)
		return tw_usage_error("record", "--burst and --every go together: so much of the program is recorded each so often");
	const int status = parse("--burst", a->burst, &a->in_ns.on);
	if (status || parse("--every", a->every, &a->in_ns.every))
		return status ? status : TW_EXIT_USAGE;
	return a->in_ns.on < a->in_ns.every ? 0 : tw_usage_error("record", "--burst=%s is not shorter than --every=%s", a->burst, a->every);
}
