#include "plugin/range.h"
#include "plugin/option.h"

#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

static int parse_name(struct tw_ranges *r, const char *name)
{
	const char *bang = strchr(name, '!');
	r->module = bang ? strndup(name, (size_t)(bang - name)) : NULL;
	r->symbol = strdup(bang ? bang + 1 : name);
	return r->symbol && *r->symbol && (!bang || (r->module && *r->module)) ? 0 : -1;
}

static int parse_address(struct tw_ranges *r, const char *text)
{
	char *end;
	uint64_t start = strtoull(text, &end, 16);
	r->items = malloc(sizeof *r->items);
	if (!r->items || *end || !text[2])
		return -1;
	r->items[0] = (struct tw_range){start, start + (r->bytes ? r->bytes : 1), UINT32_MAX};
	r->n = 1;
	return r->items[0].end > start ? 0 : -1;
}

int tw_ranges_parse(struct tw_ranges *r, const char *text)
{
	static const struct tw_option bytes = {.kind = TW_OPTION_BYTES};
	const char *plus = strrchr(text, '+');
	char *name = strndup(text, plus ? (size_t)(plus - text) : strlen(text));
	memset(r, 0, sizeof *r);
	int bad = !name || !*name || (plus && (!tw_option_number(&bytes, plus + 1, &r->bytes) || !r->bytes));
	if (!bad)
		bad = strncmp(name, "0x", 2) ? parse_name(r, name) : parse_address(r, name);
	free(name);
	return bad ? -1 : 0;
}

void tw_ranges_free(struct tw_ranges *r)
{
	free(r->items);
	free(r->module);
	free(r->symbol);
	memset(r, 0, sizeof *r);
}

int tw_ranges_find(struct tw_ranges *r, struct tw_names *names)
{
	size_t n = r->symbol ? tw_names_find(names, r->module, r->symbol, UINT32_MAX, NULL, 0) : 0;
	struct tw_named_place *places = n ? calloc(n, sizeof *places) : NULL;
	struct tw_range *items = n ? calloc(n, sizeof *items) : NULL;
	int error = n && (!places || !items) ? TW_ERR_MEMORY : 0;
	if (n && !error) {
		tw_names_find(names, r->module, r->symbol, UINT32_MAX, places, n);
		free(r->items);
		r->items = items;
		r->n = n;
	} else {
		free(items);
	}
	for (size_t i = 0; !error && i < n; i++) {
		uint64_t bytes = r->bytes ? r->bytes : places[i].bytes ? places[i].bytes : 1;
		items[i] = (struct tw_range){places[i].start, places[i].start + bytes, places[i].image};
	}
	free(places);
	return error;
}
