#include "channel/demux_stop.h"

#include <string.h>

uint64_t tw_demux_loops_left(const struct tw_demux_walk *w, const struct tw_demux_entry *e, uint64_t n)
{
	uint64_t each = (uint32_t)e->insns_blocks, most = w->stop ? (w->stop->insns - tw_demux_insns(w) + each - 1) / each : n;
	return n < most ? n : most;
}

void tw_demux_tell_stop(struct tw_demux_walk *w, uint64_t pc)
{
	const struct tw_event_header h = {TW_TAG_EVENT, TW_EVENT_WINDOW, sizeof(struct tw_window)};
	const struct tw_window window = {.open = 0, .pc = pc, .tsc = w->time};
	if (w->stop->told)
		return;
	w->stop->told = 1;
	memcpy(w->e, &h, sizeof h);
	memcpy(w->e + sizeof h, &window, sizeof window);
	w->e += sizeof h + sizeof window;
	*w->c++ = TW_TAG_EVENT;
}

int tw_demux_is_kept(const struct tw_demux_walk *w, uint16_t type)
{
	switch (type) {
	case TW_EVENT_PARTIAL:
	case TW_EVENT_SYSCALL:
	case TW_EVENT_SIGNAL:
	case TW_EVENT_SIGRETURN:
	case TW_EVENT_SEGBASE:
	case TW_EVENT_UNMAP:
	case TW_EVENT_CALL:
	case TW_EVENT_RETURN:
	case TW_EVENT_WINDOW:
		return 0;
	case TW_EVENT_REFS:
	case TW_EVENT_STAMP:
		return !w->stop->told;
	default:
		return 1;
	}
}
