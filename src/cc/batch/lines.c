/* The states of the batch routine. */
#include "cc/batch/room.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

extern const struct tw_plugin tw_plugin; /* the routine's */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the next two, and of merging */
static struct tw_cc_line *lines;
static bool is_looked_at;
static _Atomic int stopped; /* with this result of the routine's; -1: it cannot be used */

void tw_cc_complain(const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	dprintf(2, "trackway: batch routine: %s\n", text);
}

/* What the routine asks for that there is not: NULL: nothing. */
static const char *what_is_missing(void)
{
	const struct tw_analyzer *a = tw_plugin.analyzer;
	if (tw_plugin.version != TW_PLUGIN_VERSION || tw_plugin.analyzer_bytes != sizeof *a)
		return "it was compiled with headers of another version of trackway";
	if (!a || !a->begin || !a->batch || !a->merge || !a->end)
		return "it has no begin(), batch(), merge() or end()";
	if (a->needs & TW_NEEDS_ORDER)
		return "it needs time stamps, which there are in recordings only";
	if (a->needs & TW_NEEDS_NAMES)
		return "it needs names, which there are in recordings only";
	if (a->needs & TW_NEEDS_CALLS)
		return "it needs calls of library functions, which there are in recordings only";
	return a->scope == TW_SCOPE_ALL ? "it needs all threads in the order of time, which there is in recordings only" : NULL;
}

static void stop(int result)
{
	int none = 0;
	if (atomic_compare_exchange_strong(&stopped, &none, result))
		tw_cc_complain("it stopped with result %d", result);
}

/* Under the lock. */
static void look_at_routine(void)
{
	const char *missing = is_looked_at ? NULL : what_is_missing();
	is_looked_at = true;
	if (!missing)
		return;
	tw_cc_complain("%s", missing);
	stopped = -1;
}

static struct tw_cc_line *add(struct tw_cc_line **at, uint32_t serial)
{
	struct tw_cc_line *line = calloc(1, sizeof *line);
	void *state = line && tw_plugin.analyzer ? tw_plugin.analyzer->begin(NULL) : NULL;
	if (!state) {
		free(line);
		stop(TW_ERR_MEMORY);
		return NULL;
	}
	*line = (struct tw_cc_line){.next = *at, .first = serial, .last = serial, .state = state};
	return *at = line;
}

struct tw_cc_line *tw_cc_line_of(uint32_t serial)
{
	struct tw_cc_line **at = &lines, *found;
	pthread_mutex_lock(&lock);
	look_at_routine();
	while (*at && (*at)->last < serial)
		at = &(*at)->next;
	found = stopped ? NULL : *at && (*at)->first <= serial ? *at : add(at, serial);
	pthread_mutex_unlock(&lock);
	return found;
}

/* Adds what follows the line to it. */
static void join_next(struct tw_cc_line *line)
{
	struct tw_cc_line *next = line->next;
	const int result = stopped ? 0 : tw_plugin.analyzer->merge(line->state, next->state);
	line->last = next->last;
	line->next = next->next;
	free(next);
	if (result)
		stop(result);
}

void tw_cc_line_end(struct tw_cc_line *line)
{
	pthread_mutex_lock(&lock);
	line->ended = true;
	for (struct tw_cc_line *at = lines; at && at->next;)
		if (at->ended && at->next->ended && at->last + 1 == at->next->first)
			join_next(at);
		else
			at = at->next;
	pthread_mutex_unlock(&lock);
}

int tw_cc_line_batch(struct tw_cc_line *line, const struct tw_batch *b)
{
	const int result = stopped ? stopped : tw_plugin.analyzer->batch(line->state, b);
	if (result && !stopped)
		stop(result);
	return result;
}

void tw_cc_lines_forget(void)
{
	lines = NULL;
}

void tw_cc_lines_end(void)
{
	struct tw_cc_line *all = lines ? lines : tw_cc_line_of(0);
	while (all && all->next)
		join_next(all);
	const int result = all ? tw_plugin.analyzer->end(all->state, stopped) : 0;
	if (result && !stopped)
		stop(result);
	lines = NULL;
}
