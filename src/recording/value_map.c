#include "recording/value_map.h"
#include "recording/recording.h"
#include "recording/slab.h"

#include <stdlib.h>
#include <string.h>

struct row {
	struct tw_value_place place[65536];
	const uint8_t *registers[65536];
};

struct tw_value_map {
	struct row *row[65536];
	uint32_t n_slots;
	struct tw_slab *slabs; /* registers of slots */
};

struct tw_value_map *tw_value_map_new(void)
{
	struct tw_value_map *map = calloc(1, sizeof *map);
	if (map)
		map->n_slots = 1;
	return map;
}

void tw_value_map_free(struct tw_value_map *map)
{
	if (!map)
		return;
	tw_slab_free(map->slabs);
	for (int i = 0; i < 65536; i++)
		free(map->row[i]);
	free(map);
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

int tw_value_map_add(struct tw_value_map *map, const struct tw_descriptor *d)
{
	struct row *row = map->row[d->number >> 16];
	if (row && row->place[d->number & 0xffff].first)
		return TW_OK;
	uint8_t *registers = tw_slab_take(&map->slabs, d->n_values);
	if (!row)
		row = calloc(1, sizeof *row);
	if (!row || !registers || map->n_slots > UINT32_MAX - 65536) {
		if (!map->row[d->number >> 16])
			free(row);
		return tw_fail(TW_ERR_MEMORY, "table of values");
	}
	fill_registers(registers, d);
	row->registers[d->number & 0xffff] = registers;
	row->place[d->number & 0xffff] = (struct tw_value_place){map->n_slots, d->n_values};
	__atomic_store_n(&map->row[d->number >> 16], row, __ATOMIC_RELEASE);
	__atomic_store_n(&map->n_slots, map->n_slots + d->n_values, __ATOMIC_RELEASE);
	return TW_OK;
}

int tw_value_map_add_all(struct tw_value_map *map, const uint8_t *bytes, size_t n)
{
	int error = TW_OK;
	for (const uint8_t *end = bytes + n; bytes < end && !error; bytes += ((const struct tw_descriptor *)bytes)->bytes)
		error = tw_value_map_add(map, (const struct tw_descriptor *)bytes);
	return error;
}

uint32_t tw_value_map_slots(const struct tw_value_map *map)
{
	return __atomic_load_n(&map->n_slots, __ATOMIC_ACQUIRE);
}

static const struct row *row_of(const struct tw_value_map *map, uint32_t upper)
{
	static const struct row none;
	const struct row *row = upper < 65536 ? __atomic_load_n(&map->row[upper], __ATOMIC_ACQUIRE) : NULL;
	return row ? row : &none;
}

const struct tw_value_place *tw_value_map_row(const struct tw_value_map *map, uint32_t upper)
{
	return row_of(map, upper)->place;
}

const uint8_t *tw_value_map_registers(const struct tw_value_map *map, uint32_t number)
{
	return row_of(map, number >> 16)->registers[number & 0xffff];
}
