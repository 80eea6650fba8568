/*
 * From what was seen of the code that ran (seen.h), in addresses of an image, to facts in modules and their own
 * addresses (facts.h).
 */
#ifndef TW_LEARN_NAME_SEEN_H
#define TW_LEARN_NAME_SEEN_H

#include "learn/seen.h"
#include "names/places.h"

#include <trackway/names.h>
#include <trackway/recording.h>

/* What it goes by. All zeros but for the first three. */
struct tw_seen_naming {
	const struct tw_recording *recording;
	const struct tw_places *places;
	struct tw_facts *facts;
	struct tw_names *names; /* of all that was seen */
	/* Modules, by the number of their path among the facts' texts: from 1; 0: not known yet. */
	uint32_t *module_of;
	size_t modules_room;
};

/* The number of the module with this path; its file is read once. TW_NO_NUMBER: no memory. */
uint32_t tw_seen_module(struct tw_seen_naming *n, const char *path);

/* Adds what was seen to the facts. 0 or a negative enum tw_error. */
int tw_seen_name(struct tw_seen_naming *n, const struct tw_seen_set *seen);

void tw_seen_naming_free(struct tw_seen_naming *n);

#endif
