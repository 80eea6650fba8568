#include "plugin/option.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tw_option_number(const struct tw_option *option, const char *value, uint64_t *out)
{
	static const char units[] = "kMG";
	char *end;
	errno = 0;
	unsigned long long n = strtoull(value, &end, strncmp(value, "0x", 2) ? 10 : 16);
	if (!isdigit((unsigned char)value[0]) || end == value || errno)
		return 0;
	const char *unit = *end && option->kind == TW_OPTION_BYTES ? strchr(units, *end) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	if (end[unit != NULL] || (shift && n >> (64 - shift)))
		return 0;
	*out = n << shift;
	return 1;
}
