#include "channel/where.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int parse_address(const char *text, struct tw_where *w)
{
	char *end;
	errno = 0;
	w->kind = TW_WHERE_ADDRESS;
	w->value = strtoull(text, &end, 16);
	return text[2] && !*end && !errno;
}

static int parse_time(const char *text, struct tw_where *w, const char *unit)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
	char *end;
	const double n = strtod(text, &end);
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		if (strcmp(unit, units[i].name))
			continue;
		w->kind = TW_WHERE_TIME;
		w->value = (uint64_t)(n * units[i].ns + 0.5);
		return end == unit && n >= 0 && n * units[i].ns < 1e18;
	}
	return 0;
}

static int parse_count(const char *text, struct tw_where *w, const char *unit)
{
	static const char *const units[] = {"i", "ki", "Mi", "Gi"};
	uint64_t factor = 1;
	char *end;
	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);
	for (unsigned u = 0; u < 4; u++, factor *= 1000) {
		if (strcmp(unit, units[u]))
			continue;
		w->kind = TW_WHERE_COUNT;
		w->value = n * factor;
		return end == unit && !errno && n <= UINT64_MAX / 4 / factor;
	}
	return 0;
}

static int parse_function(const char *text, struct tw_where *w)
{
	const char *bang = strchr(text, '!');
	size_t module = bang ? (size_t)(bang - text) : 0;
	const char *function = bang ? bang + 1 : text;
	if (!*function || (bang && !module) || module >= sizeof w->module || strlen(function) >= sizeof w->function)
		return 0;
	memcpy(w->module, text, module);
	if (bang && !strncmp(function, "0x", 2)) {
		const int fits = parse_address(function, w);
		w->kind = TW_WHERE_FUNCTION;
		return fits;
	}
	w->kind = TW_WHERE_FUNCTION;
	strcpy(w->function, function);
	return 1;
}

int tw_where_parse(const char *text, struct tw_where *w)
{
	const char *unit = text + strspn(text, "0123456789.");
	memset(w, 0, sizeof *w);
	if (!strncmp(text, "0x", 2))
		return parse_address(text, w);
	if (!isdigit((unsigned char)text[0]))
		return parse_function(text, w);
	return parse_time(text, w, unit) || parse_count(text, w, unit);
}
