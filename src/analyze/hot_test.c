/* Blocks and totals of a hand-made recording, whatever the number of workers. */
#include "analyze/hot.h"
#include "made_recording.h"

int main(void)
{
	enum { RUNS = MADE_THREADS * MADE_CHUNKS * MADE_RUNS };
	char dir[PATH_MAX];
	unit_enter_directory(dir);
	struct tw_recording *r = make_recording("r.tw");
	for (unsigned jobs = 1; jobs < 5; jobs++) {
		struct tw_hot hot;
		EQUAL(tw_hot_run(r, &(struct tw_replay_options){.jobs = jobs}, &hot), 0);
		EQUAL(hot.n_blocks, 1);
		EQUAL(hot.blocks[0].pc, 0x400000);
		EQUAL(hot.blocks[0].counts.executions, RUNS);
		EQUAL(hot.totals.executions, RUNS);
		EQUAL(hot.totals.insns, 2 * RUNS);
		EQUAL(hot.totals.refs, 2 * RUNS);
		EQUAL(hot.totals.reads, 2 * RUNS);
		EQUAL(hot.totals.writes, RUNS);
		tw_hot_free(&hot);
	}
	tw_recording_close(r);
	unit_leave_directory(dir);
	return UNIT_END();
}
