#include "analyzers/process.h"

uint32_t tw_process_of(const struct tw_context *c, uint32_t thread)
{
	const struct tw_recording *r = tw_context_recording(c);
	size_t i = tw_recording_find_thread(r, thread);
	return i < tw_recording_n_threads(r) ? tw_recording_thread(r, i)->pid : 0;
}

uint32_t tw_process_program(const struct tw_context *c, uint32_t thread)
{
	const struct tw_recording *r = tw_context_recording(c);
	size_t i = tw_recording_find_thread(r, thread);
	if (i >= tw_recording_n_threads(r))
		return thread;
	const uint32_t pid = tw_recording_thread(r, i)->pid;
	uint32_t first = thread;
	for (size_t k = i + 1; k-- > 0;) {
		const struct tw_thread_info *t = tw_recording_thread(r, k);
		if (t->pid == pid)
			first = t->serial;
		if (t->pid == pid && t->tid == pid)
			break;
	}
	return first;
}

uint32_t tw_process_program_yet(const struct tw_context *c, uint32_t thread)
{
	const struct tw_recording *r = tw_context_recording(c);
	const uint32_t program = tw_process_program(c, thread);
	const size_t threads = tw_recording_find_thread(r, thread) - tw_recording_find_thread(r, program);
	return threads == thread - program ? program : thread;
}

uint32_t tw_process_image(const struct tw_context *c, struct tw_names *names, uint32_t process)
{
	const struct tw_recording *r = tw_context_recording(c);
	for (size_t i = tw_recording_n_threads(r); i-- > 0;)
		if (tw_recording_thread(r, i)->pid == process)
			return tw_names_image(names, tw_recording_thread(r, i)->serial);
	return UINT32_MAX;
}
