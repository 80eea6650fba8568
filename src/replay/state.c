#include "replay/state.h"
#include "recording/recording.h"

int tw_walk_damaged(const struct tw_walk *w, int error, const char *what, unsigned long long number)
{
	return tw_fail(error, "thread %u, chunk %u, tag %td: %s %llu", w->chunk->thread, w->chunk->sequence, w->c - w->chunk->c, what,
	               number);
}

int tw_walk_take(struct tw_walk *w, uint32_t number, uint32_t n)
{
	int error = tw_value_reader_take(&w->values, number, n, w->record);
	return error ? tw_walk_damaged(w, error, "values that make no sense, of fragment", number) : 0;
}
