/* How many buffers may wait in the spool. */
#include "channel/output_jobs.h"
#include "channel/output_state.h"
#include "unit.h"

static struct tw_output o;

int main(void)
{
	enum { PROCESSORS = 2, LANES = 4, MOST = 5000 };
	o.processors = PROCESSORS;
	o.n_lanes = LANES;
	o.most_jobs = MOST;
	EQUAL(tw_output_most_jobs(&o, 1), MOST);
	o.options.grows_if_cheap = 1;
	EQUAL(tw_output_most_jobs(&o, 0), MOST);
	EQUAL(tw_output_most_jobs(&o, 1), PROCESSORS * TW_CHUNK_BUFFERS);
	for (unsigned i = 0; i < LANES; i++)
		o.lane[i].feeding = i + 1; /* each a chunk */
	EQUAL(tw_output_most_jobs(&o, 1), LANES * TW_CHUNK_BUFFERS);
	o.most_jobs = PROCESSORS;
	EQUAL(tw_output_most_jobs(&o, 1), PROCESSORS);
	o.most_jobs = MOST;
	o.yields = 1;
	EQUAL(tw_output_most_jobs(&o, 1), MOST);
	return UNIT_END();
}
