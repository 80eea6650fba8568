/* none: the bare engine. Nothing is recorded and no register is taken. */
#include "engine/record/instrumentor.h"

const struct instrumentor tw_instrument_none = {
    .name = "none",
    .format = TW_FORMAT_NONE,
    .context = NONE_CONTEXT,
};

const struct instrumentor *tw_instrument_find(u32 format)
{
	static const struct instrumentor *const all[] = {
	    &tw_instrument_none,    &tw_instrument_dep,      &tw_instrument_call,           &tw_instrument_dep_c,
	    &tw_instrument_bb_pc,   &tw_instrument_mem_addr, &tw_instrument_bb_pc_mem_addr, &tw_instrument_dep06,
	    &tw_instrument_dep06_c, &tw_instrument_cf_bit,   &tw_instrument_dep_s,
	};
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i]->format == format)
			return all[i];
	return &tw_instrument_none;
}
