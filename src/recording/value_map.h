/*
 * The value map: for each fragment how many values one execution leaves in the M stream, and which slots they belong to. A slot is one value position of
 * one fragment; slots are numbered from 1 on, so something can be kept for each slot in an array. The transform (transform.h) keeps its
 * predictions there. They are numbered within a *family*, a set of fragments that no chunk runs fragments from outside of together with: all
 * of a recording, or those of one program, so that a family can be forgotten and the array is as long as the largest of them wants.
 *
 * One thread adds and forgets, others may look at the same time: a fragment that was added before they got to know of it is seen whole.
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
struct tw_slab;

/* All zeros at first. */
struct tw_value_family {
	uint32_t n_slots;
	struct tw_slab *slabs;
};

/* What an encoder needs before each fragment's slots: one for itself. */
enum { TW_ENCODER_SLOTS = 1 };

/* Before each fragment's slots there are `before` that are for no value. NULL: no memory. */
struct tw_value_map *tw_value_map_new(uint32_t before);
void tw_value_map_free(struct tw_value_map *map);

/*
 * Takes what it needs of a valid descriptor, which need not stay. Of two with the same number the first one counts. `family` NULL: the one of all that
 * have no other. TW_ERR_MEMORY.
 */
int tw_value_map_add(struct tw_value_map *map, struct tw_value_family *family, const struct tw_descriptor *d);

/* Valid descriptors, back to back. */
int tw_value_map_add_all(struct tw_value_map *map, struct tw_value_family *family, const uint8_t *bytes, size_t n);

/* Forgets the fragments of a stretch of numbers; one; and what is kept of a family, all of whose fragments are forgotten. */
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
