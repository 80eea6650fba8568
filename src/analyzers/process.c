#include "analyzers/process.h"

#include <stdbool.h>

enum { LATER = 1u << 23 }; /* above all numbers of processes */

/*
 * Is it the process's first thread, or the one with which it continued after execve? The process created the others
 * itself, including those of handlers (trackway cc).
 */
static bool is_first(const struct tw_thread_info *t)
{
	return t->tid == t->pid && t->parent_pid != t->pid;
}

uint32_t tw_process_program(const struct tw_context *c, uint32_t thread)
{
	const struct tw_recording *r = tw_context_recording(c);
	size_t i = tw_recording_find_thread(r, thread);
	if (i >= tw_recording_n_threads(r))
		return thread;
	const uint32_t pid = tw_recording_thread(r, i)->pid;
	uint32_t first = thread, begun_with = UINT32_MAX;
	for (size_t k = i + 1; k-- > 0;) {
		const struct tw_thread_info *t = tw_recording_thread(r, k);
		if (t->pid != pid)
			continue;
		first = t->serial;
		if (is_first(t) && begun_with != UINT32_MAX)
			return begun_with;
		begun_with = is_first(t) ? t->serial : begun_with;
	}
	return first; /* where it ran already when recording began, others may stand before the thread that it began with */
}

uint32_t tw_process_program_yet(const struct tw_context *c, uint32_t thread)
{
	const struct tw_recording *r = tw_context_recording(c);
	const uint32_t program = tw_process_program(c, thread);
	const size_t threads = tw_recording_find_thread(r, thread) - tw_recording_find_thread(r, program);
	return threads == thread - program ? program : thread;
}

uint32_t tw_process_memory(const struct tw_context *c, uint32_t thread)
{
	const struct tw_recording *r = tw_context_recording(c);
	const size_t i = tw_recording_find_thread(r, thread), n = tw_recording_n_threads(r);
	if (i >= n)
		return 0;
	const uint32_t pid = tw_recording_thread(r, i)->pid, program = tw_process_program(c, thread);
	for (size_t k = tw_recording_find_thread(r, program); k-- > 0;)
		if (tw_recording_thread(r, k)->pid == pid)
			return LATER | program;
	return pid;
}

uint32_t tw_process_image(const struct tw_context *c, struct tw_names *names, uint32_t memory)
{
	const struct tw_recording *r = tw_context_recording(c);
	if (memory & LATER)
		return tw_names_image(names, memory & ~(uint32_t)LATER);
	for (size_t i = 0; i < tw_recording_n_threads(r); i++)
		if (tw_recording_thread(r, i)->pid == memory)
			return tw_names_image(names, tw_recording_thread(r, i)->serial);
	return UINT32_MAX;
}
