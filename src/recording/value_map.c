#include "recording/value_map.h"
#include "base/numbered.h"
#include "base/zeros.h"
#include "recording/recording.h"
#include "recording/slab.h"

#include <stdlib.h>
#include <string.h>

struct tw_value_map {
	struct tw_numbered place;     /* struct tw_value_place */
	struct tw_numbered registers; /* const uint8_t *: of its slots */
	uint32_t n_slots, before;
	struct tw_value_family rest;
};

struct tw_value_map *tw_value_map_new(uint32_t before)
{
	struct tw_value_map *map = tw_zeros_new(sizeof *map);
	if (!map)
		return NULL;
	map->place.item = sizeof(struct tw_value_place);
	map->registers.item = sizeof(uint8_t *);
	map->n_slots = 1;
	map->before = before;
	return map;
}

void tw_value_map_free(struct tw_value_map *map)
{
	if (!map)
		return;
	tw_value_family_forget(&map->rest);
	tw_numbered_free(&map->place);
	tw_numbered_free(&map->registers);
	tw_zeros_free(map, sizeof *map);
}

static void fill_registers(uint8_t *registers, const struct tw_descriptor *d)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	memset(registers, TW_SLOT_NO_REGISTER, d->n_values);
	for (unsigned i = 0; i < d->n_ops; i++) {
		if (op[i].kind == TW_OP_RECORD)
			registers[op[i].value] = op[i].base;
		else if (op[i].kind == TW_OP_XSAVE)
			registers[op[i].value] = TW_RAX;
		else if (op[i].kind == TW_OP_REP)
			registers[op[i].value] = registers[op[i].mask_value] = tw_op_counter(&op[i]);
	}
}

int tw_value_map_add(struct tw_value_map *map, struct tw_value_family *family, const struct tw_descriptor *d)
{
	struct tw_value_place *place = tw_numbered_add_row(&map->place, d->number >> 16);
	const uint8_t **of = tw_numbered_add_row(&map->registers, d->number >> 16);
	if (place && place[d->number & 0xffff].first)
		return TW_OK;
	family = family ? family : &map->rest;
	uint8_t *registers = tw_slab_take(&family->slabs, d->n_values);
	if (!place || !of || !registers || family->n_slots > UINT32_MAX - 65536)
		return tw_fail(TW_ERR_MEMORY, "table of values");
	fill_registers(registers, d);
	of[d->number & 0xffff] = registers;
	place[d->number & 0xffff] = (struct tw_value_place){1 + map->before + family->n_slots, d->n_values};
	family->n_slots += map->before + d->n_values;
	if (1 + family->n_slots > map->n_slots)
		__atomic_store_n(&map->n_slots, 1 + family->n_slots, __ATOMIC_RELEASE);
	return TW_OK;
}

int tw_value_map_add_all(struct tw_value_map *map, struct tw_value_family *family, const uint8_t *bytes, size_t n)
{
	int error = TW_OK;
	for (const uint8_t *end = bytes + n; bytes < end && !error; bytes += ((const struct tw_descriptor *)bytes)->bytes)
		error = tw_value_map_add(map, family, (const struct tw_descriptor *)bytes);
	return error;
}

void tw_value_map_forget(struct tw_value_map *map, uint32_t first)
{
	tw_numbered_forget(&map->place, first);
	tw_numbered_forget(&map->registers, first);
}

void tw_value_map_forget_one(struct tw_value_map *map, uint32_t number)
{
	struct tw_value_place *place = tw_numbered_row(&map->place, number >> 16);
	const uint8_t **registers = tw_numbered_row(&map->registers, number >> 16);
	if (place)
		place[number & 0xffff] = (struct tw_value_place){0};
	if (registers)
		registers[number & 0xffff] = NULL;
}

void tw_value_family_forget(struct tw_value_family *family)
{
	tw_slab_free(family->slabs);
	*family = (struct tw_value_family){0};
}

uint32_t tw_value_map_slots(const struct tw_value_map *map)
{
	return __atomic_load_n(&map->n_slots, __ATOMIC_ACQUIRE);
}

const struct tw_value_place *tw_value_map_row(const struct tw_value_map *map, uint32_t upper)
{
	static const struct tw_value_place none[TW_NUMBERED_ROW];
	const struct tw_value_place *row = tw_numbered_row(&map->place, upper);
	return row ? row : none;
}

const uint8_t *tw_value_map_registers(const struct tw_value_map *map, uint32_t number)
{
	const uint8_t *const *row = tw_numbered_row(&map->registers, number >> 16);
	return row ? row[number & 0xffff] : NULL;
}
