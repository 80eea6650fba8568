/* Apart, since who replays without a recording (cc/batch) has no reader of one. */
#include "replay/programs.h"

#include <trackway/recording.h>

int tw_programs_add_all(struct tw_programs *p, const struct tw_recording *r)
{
	size_t n = tw_recording_n_descriptors(r);
	int error = TW_OK;
	for (size_t i = 0; i < n && !error; i++)
		error = tw_programs_add(p, tw_recording_descriptor_at(r, i));
	return error;
}
