#include "analyze/batch_walk.h"
#include "unit.h"

/* Takes events up to the next block; returns their types as digits. */
static unsigned take(struct tw_batch_walk *w)
{
	const struct tw_event *event;
	unsigned types = 0;
	while ((event = tw_batch_walk_event(w)))
		types = 10 * types + event->type;
	return types;
}

int main(void)
{
	static const struct tw_event events[] = {
	    {.block = 0, .type = 1}, {.block = 0, .type = 2}, {.block = 2, .type = 3}, {.block = 5, .type = 4}};
	static const struct tw_batch batch = {.events = events, .n_events = 4, .n_blocks = 5};
	const struct tw_stretch two = {.n_blocks = 2}, none = {.n_blocks = 0};
	struct tw_batch_walk w = {.b = &batch};
	CHECK(tw_batch_walk_has_events(&w, &two));
	CHECK(!tw_batch_walk_has_events(&w, &none));
	EQUAL(take(&w), 12);
	CHECK(!tw_batch_walk_has_events(&w, &two)); /* the third is before the stretch behind it */
	w.block = 1;
	EQUAL(take(&w), 0);
	CHECK(tw_batch_walk_has_events(&w, &two));
	w.block = 3; /* a caller that takes a whole stretch is told afterwards what was in it */
	EQUAL(take(&w), 3);
	CHECK(!tw_batch_walk_has_events(&w, &two));
	w.block = batch.n_blocks;
	EQUAL(take(&w), 4);
	EQUAL(take(&w), 0);
	return UNIT_END();
}
