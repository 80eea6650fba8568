/* Common to the tables of `report`: which rows are shown, and names of places. */
#include "cli/report_state.h"
#include "names/names.h"

#include <stdio.h>
#include <string.h>

int report_is_shown(const struct report *r, const char *function, const char *module)
{
	return (!r->function || tw_name_is(function, r->function)) && (!r->module || tw_is_module(module, tw_base_name(r->module)));
}

char *report_place_of(const char *function, const char *module, const char *file, uint32_t line)
{
	char *text = NULL;
	int ok;
	if (line)
		ok = asprintf(&text, "%s %s:%u", function, tw_base_name(file), line);
	else if (strncmp(function, module, strlen(module)))
		ok = asprintf(&text, "%s (%s)", function, module);
	else
		ok = asprintf(&text, "%s", function);
	return ok < 0 ? NULL : text;
}
