#include "plugin/range.h"
#include "names/names.h"
#include "names/own_variables.h"
#include "plugin/option.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/event.h>

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
	r->items[0] = (struct tw_range){.start = start, .end = start + (r->bytes ? r->bytes : 1), .image = UINT32_MAX};
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

static uint64_t bytes_of(const struct tw_ranges *r, uint64_t of_symbol)
{
	return r->bytes ? r->bytes : of_symbol ? of_symbol : 1;
}

/* The symbol as one that is at one place in each image. How many there are; or TW_ERR_MEMORY. */
static int64_t find_shared(struct tw_ranges *r, struct tw_names *names)
{
	const size_t n = tw_names_find(names, r->module, r->symbol, UINT32_MAX, NULL, 0);
	struct tw_named_place *places = n ? calloc(n, sizeof *places) : NULL;
	struct tw_range *items = n ? calloc(n, sizeof *items) : NULL;
	if (n && (!places || !items)) {
		free(places);
		free(items);
		return TW_ERR_MEMORY;
	}
	if (n)
		tw_names_find(names, r->module, r->symbol, UINT32_MAX, places, n);
	for (size_t i = 0; i < n; i++)
		items[i] = (struct tw_range){
		    .start = places[i].start, .end = places[i].start + bytes_of(r, places[i].bytes), .image = places[i].image};
	free(places);
	r->items = items;
	return (int64_t)n;
}

/* ... as one that each thread has of its own. */
static int64_t find_own(struct tw_ranges *r, struct tw_names *names)
{
	enum { ROOM = 64 };
	struct tw_own_variable *own = calloc(ROOM, sizeof *own);
	r->items = calloc(ROOM, sizeof *r->items);
	if (!own || !r->items) {
		free(own);
		return TW_ERR_MEMORY;
	}
	size_t n = tw_own_variables_find(tw_names_recording(names), r->module, r->symbol, own, ROOM);
	n = n < ROOM ? n : ROOM;
	for (size_t i = 0; i < n; i++) {
		r->items[i] = (struct tw_range){.image = own[i].image, .is_own = 1, .from_base = own[i].at};
		r->items[i].bytes = bytes_of(r, own[i].bytes);
	}
	free(own);
	return (int64_t)n;
}

int tw_ranges_find(struct tw_ranges *r, struct tw_names *names)
{
	if (!r->symbol)
		return 0;
	int64_t n = find_shared(r, names);
	n = n ? n : find_own(r, names);
	r->n = n > 0 ? (size_t)n : 0;
	return n < 0 ? (int)n : 0;
}

/* ---- threads ---- */

static uint64_t base_after(uint64_t base, const struct tw_event *e)
{
	const struct tw_segbase *seg = e->payload;
	if (e->type == TW_EVENT_KEYFRAME)
		return ((const struct tw_keyframe *)e->payload)->seg_base[TW_SEG_FS];
	return e->type == TW_EVENT_SEGBASE && seg->seg == TW_SEG_FS ? seg->base : base;
}

int tw_ranges_move(const struct tw_ranges *r, const struct tw_event *e)
{
	return r->n && r->items[0].is_own && base_after(r->base, e) != r->base;
}

void tw_ranges_event(struct tw_ranges *r, const struct tw_event *e)
{
	if (!tw_ranges_move(r, e))
		return;
	r->base = base_after(r->base, e);
	for (size_t i = 0; i < r->n; i++) {
		struct tw_range *own = &r->items[i];
		own->start = r->base ? r->base + (uint64_t)own->from_base : 0;
		own->end = r->base ? own->start + own->bytes : 0;
	}
}
