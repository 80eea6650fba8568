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

/* ---- what a symbol stands for ---- */

/* What is looked for. */
struct search {
	struct tw_ranges *ranges;
	struct tw_names *names;
	char *variable;   /* the symbol, or what of it names a variable */
	const char *part; /* what follows: ".next[3]"; "": all of the variable */
};

/* Narrows a range from the whole variable to the part. 0: there is no such part. */
static int narrow(const struct search *s, struct tw_range *range, const struct tw_own_variable *own)
{
	struct tw_ranges *r = s->ranges;
	struct tw_type_part part;
	if (!*s->part)
		return 1;
	if (!(own ? tw_names_own_part(s->names, own, s->part, &part, r->why, sizeof r->why)
	          : tw_names_part(s->names, range->image, range->start, s->part, &part, r->why, sizeof r->why)))
		return 0;
	range->start += part.offset;
	range->end = range->start + bytes_of(r, part.bytes);
	range->from_base += (int64_t)part.offset;
	range->bytes = bytes_of(r, part.bytes);
	return 1;
}

/* Looks for a variable with one address in each image. How many there are; or TW_ERR_MEMORY. */
static int64_t find_shared(const struct search *s)
{
	struct tw_ranges *r = s->ranges;
	const size_t n = tw_names_find(s->names, r->module, s->variable, UINT32_MAX, NULL, 0);
	struct tw_named_place *places = n ? calloc(n, sizeof *places) : NULL;
	size_t found = 0;
	free(r->items);
	r->items = n ? calloc(n, sizeof *r->items) : NULL;
	if (n && (!places || !r->items)) {
		free(places);
		return TW_ERR_MEMORY;
	}
	if (n)
		tw_names_find(s->names, r->module, s->variable, UINT32_MAX, places, n);
	for (size_t i = 0; i < n; i++) {
		r->items[found] = (struct tw_range){
		    .start = places[i].start, .end = places[i].start + bytes_of(r, places[i].bytes), .image = places[i].image};
		found += narrow(s, &r->items[found], NULL) != 0;
	}
	free(places);
	return (int64_t)found;
}

/* ... as one that each thread has of its own. */
static int64_t find_own(const struct search *s)
{
	enum { ROOM = 64 };
	struct tw_ranges *r = s->ranges;
	struct tw_own_variable *own = calloc(ROOM, sizeof *own);
	size_t found = 0;
	free(r->items);
	r->items = calloc(ROOM, sizeof *r->items);
	if (!own || !r->items) {
		free(own);
		return TW_ERR_MEMORY;
	}
	size_t n = tw_own_variables_find(tw_names_recording(s->names), r->module, s->variable, own, ROOM);
	n = n < ROOM ? n : ROOM;
	for (size_t i = 0; i < n; i++) {
		r->items[found] =
		    (struct tw_range){.image = own[i].image, .is_own = 1, .from_base = own[i].at, .bytes = bytes_of(r, own[i].bytes)};
		found += narrow(s, &r->items[found], &own[i]) != 0;
	}
	free(own);
	return (int64_t)found;
}

/* The symbol as a variable; otherwise as a part of one, with the longest matching variable name: names may contain dots. */
static int64_t find(struct tw_ranges *r, struct tw_names *names)
{
	struct search s = {.ranges = r, .names = names, .variable = strdup(r->symbol)};
	int64_t n = s.variable ? 0 : TW_ERR_MEMORY;
	for (size_t at = strlen(r->symbol); at && !n; at--) {
		s.part = r->symbol + at;
		if (*s.part && *s.part != '.' && *s.part != '[')
			continue;
		s.variable[at] = 0;
		n = find_shared(&s);
		n = n ? n : find_own(&s);
	}
	free(s.variable);
	return n;
}

int tw_ranges_find(struct tw_ranges *r, struct tw_names *names)
{
	if (!r->symbol)
		return 0;
	const int64_t n = find(r, names);
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
