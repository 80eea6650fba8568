/*
 * The value map: for each fragment the number of values per execution in the M stream, and their slots. A slot is one
 * value position of one fragment; slots are numbered from 1, so data can be kept for each slot in an array. The
 * transform (transform.h) keeps its predictions there. Slots are numbered within a *family*, a set of fragments such
 * that no chunk runs fragments of two families: all of a recording, or those of one program. So a family can be
 * forgotten, and the array is as long as the largest family needs.
 *
 * One thread adds and forgets, others may look at the same time: a fragment that was added before they learned of it
 * is seen whole.
 */
#ifndef TW_VALUE_MAP_H
#define TW_VALUE_MAP_H

#include <trackway/descriptor.h>

/* The slots of one fragment: first .. first + n - 1. Both are 0 for a fragment without a descriptor. */
struct tw_value_place {
	uint32_t first, n;
};

/* The register number of slots that hold something else: masks and indices of vectors. */
enum { TW_SLOT_NO_REGISTER = TW_NREGS };

struct tw_value_map;
struct tw_slab;

/* All zeros at first. */
struct tw_value_family {
	uint32_t n_slots;
	struct tw_slab *slabs;
};

/* What an encoder needs before each fragment's slots: one for itself. */
enum { TW_ENCODER_SLOTS = 1 };

/* Before each fragment's slots there are `before` slots for no value. NULL: no memory. */
struct tw_value_map *tw_value_map_new(uint32_t before);
void tw_value_map_free(struct tw_value_map *map);

/*
 * Takes what it needs of a valid descriptor, which need not stay. Of two with the same number the first counts.
 * `family` NULL: the family of all that have no other. TW_ERR_MEMORY.
 */
int tw_value_map_add(struct tw_value_map *map, struct tw_value_family *family, const struct tw_descriptor *d);

/* Valid descriptors, back to back. */
int tw_value_map_add_all(struct tw_value_map *map, struct tw_value_family *family, const uint8_t *bytes, size_t n);

/* Forgets the fragments of a stretch of numbers; one fragment; and what is kept of a family, all of whose fragments are forgotten. */
void tw_value_map_forget(struct tw_value_map *map, uint32_t first);
void tw_value_map_forget_one(struct tw_value_map *map, uint32_t number);
void tw_value_family_forget(struct tw_value_family *family);

/* Slots of the largest family so far, plus 1: slot 0 is no fragment's. */
uint32_t tw_value_map_slots(const struct tw_value_map *map);

/* The places of the 65536 fragments whose numbers have this upper half; never NULL. */
const struct tw_value_place *tw_value_map_row(const struct tw_value_map *map, uint32_t upper);

/* For each value of a fragment that has some, the register it is of, or TW_SLOT_NO_REGISTER. */
const uint8_t *tw_value_map_registers(const struct tw_value_map *map, uint32_t number);

#endif
