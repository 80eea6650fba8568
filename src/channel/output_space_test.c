/* How much a buffer takes in the spool, where slots have had smaller ones. */
#include "channel/output_space.h"
#include "channel/output_job.h"
#include "channel/output_state.h"
#include "channel/spool.h"
#include "unit.h"

enum { WHOLE = 1 << 20, PART = 1 << 16 };

/* A slot that has only had a small buffer grows when it gets a large one, and any slot may be the next. */
int main(void)
{
	static struct tw_job job[4];
	static struct tw_output o = {.job = job, .n_jobs = 3, .most_jobs = 3};
	for (int i = 0; i < 3; i++)
		job[i].slot_bytes = WHOLE;
	o.unused = &job[0];
	EQUAL(tw_output_space_growth(&o, WHOLE), 0);
	EQUAL(tw_output_space_growth(&o, PART), 0);
	job[1].slot_bytes = PART;
	EQUAL(tw_output_space_growth(&o, PART), 0);
	EQUAL(tw_output_space_growth(&o, WHOLE), WHOLE - PART);
	job[1].unused_for_good = 1;
	EQUAL(tw_output_space_growth(&o, WHOLE), 0);
	o.unused = NULL; /* all are in use: it waits for one of them... */
	EQUAL(tw_output_space_growth(&o, WHOLE), 0);
	o.most_jobs = 4; /* ...or there is a new one */
	EQUAL(tw_output_space_growth(&o, WHOLE), tw_spool_growth(WHOLE));
	return UNIT_END();
}
