/*
 * The value map: for each fragment how many values one execution leaves in the M stream, and which slots they belong to. A slot is one value position of
 * one fragment; slots are numbered from 1 on in the order in which descriptors came, so whoever has seen the same descriptors can keep
 * something for each slot in an array. The transform (transform.h) keeps its predictions there.
 *
 * One thread adds, others may look at the same time: a fragment that was added before they got to know of it is seen whole.
 */
#ifndef TW_VALUE_MAP_H
#define TW_VALUE_MAP_H

#include <trackway/descriptor.h>

/* The slots of one fragment: first .. first + n - 1. Of a fragment without a descriptor both are 0. */
struct tw_value_place {
	uint32_t first, n;
};

/* The register number of slots that hold something else: masks and indices of vectors. */
enum { TW_SLOT_NO_REGISTER = TW_NREGS };

struct tw_value_map;

struct tw_value_map *tw_value_map_new(void); /* NULL: no memory */
void tw_value_map_free(struct tw_value_map *map);

/* Takes what it needs of a valid descriptor, which need not stay. Of two with the same number the first one counts. TW_ERR_MEMORY. */
int tw_value_map_add(struct tw_value_map *map, const struct tw_descriptor *d);

/* Valid descriptors, back to back. */
int tw_value_map_add_all(struct tw_value_map *map, const uint8_t *bytes, size_t n);

/* Slots so far, plus 1: slot 0 is no fragment's. */
uint32_t tw_value_map_slots(const struct tw_value_map *map);

/* The places of the 65536 fragments whose numbers have this upper half; never NULL. */
const struct tw_value_place *tw_value_map_row(const struct tw_value_map *map, uint32_t upper);

/* For each value of a fragment that has some, the register it is of, or TW_SLOT_NO_REGISTER. */
const uint8_t *tw_value_map_registers(const struct tw_value_map *map, uint32_t number);

#endif
