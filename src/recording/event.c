/* Events as bytes: whether one is whole. */
#include "recording/recording.h"

#include <string.h>
#include <trackway/event.h>

/* Required contents of a payload: its struct, and possibly a NUL-terminated text after it. */
static const struct {
	uint32_t bytes;
	uint32_t text; /* 1: a text follows */
} payloads[TW_NEVENTS] = {
    [TW_EVENT_KEYFRAME] = {sizeof(struct tw_keyframe), 0},
    [TW_EVENT_PARTIAL] = {sizeof(struct tw_partial), 0},
    [TW_EVENT_SYSCALL] = {sizeof(struct tw_syscall), 0},
    [TW_EVENT_SIGNAL] = {sizeof(struct tw_signal), 0},
    [TW_EVENT_SEGBASE] = {sizeof(struct tw_segbase), 0},
    [TW_EVENT_MAP] = {sizeof(struct tw_map), 1},
    [TW_EVENT_UNMAP] = {sizeof(struct tw_unmap), 0},
    [TW_EVENT_THREAD_START] = {sizeof(struct tw_thread_start), 0},
    [TW_EVENT_THREAD_END] = {sizeof(struct tw_thread_end), 0},
    [TW_EVENT_FORK] = {sizeof(struct tw_fork), 0},
    [TW_EVENT_EXEC] = {0, 1},
    [TW_EVENT_GAP] = {sizeof(struct tw_gap), 1},
    [TW_EVENT_REFS] = {sizeof(struct tw_refs), 0},
    [TW_EVENT_PROGRAM] = {sizeof(struct tw_program_start), 1},
    [TW_EVENT_CHILD_END] = {sizeof(struct tw_child_end), 0},
    [TW_EVENT_WINDOW] = {sizeof(struct tw_window), 0},
    [TW_EVENT_LEARNED] = {sizeof(struct tw_learned), 0},
    [TW_EVENT_STACK] = {sizeof(struct tw_stack), 0},
    [TW_EVENT_STAMP] = {sizeof(struct tw_stamp), 0},
    [TW_EVENT_FAULT] = {sizeof(struct tw_fault), 0},
    [TW_EVENT_CALL] = {sizeof(struct tw_called), 0},
    [TW_EVENT_RETURN] = {sizeof(struct tw_returned), 0},
};

static int logged_ok(const uint8_t *payload, uint32_t bytes)
{
	struct tw_refs refs;
	memcpy(&refs, payload, sizeof refs);
	return refs.n == (bytes - sizeof refs) / sizeof(struct tw_logged_ref) && (bytes - sizeof refs) % sizeof(struct tw_logged_ref) == 0;
}

int tw_event_valid(const struct tw_event_header *h, const uint8_t *payload, size_t left)
{
	if (h->type < TW_EVENT_KEYFRAME || h->type >= TW_NEVENTS || h->bytes > left)
		return 0;
	uint32_t least = payloads[h->type].bytes;
	if (h->bytes < least + payloads[h->type].text)
		return 0;
	if (h->type == TW_EVENT_REFS)
		return logged_ok(payload, h->bytes);
	return !payloads[h->type].text || memchr(payload + least, 0, h->bytes - least);
}

const struct tw_event_header *tw_event_next(const uint8_t *events, size_t n, size_t *at)
{
	const struct tw_event_header *h = (const struct tw_event_header *)(events + *at);
	const size_t left = n - *at;
	if (left < sizeof *h || !tw_event_valid(h, (const uint8_t *)(h + 1), left - sizeof *h))
		return NULL;
	const size_t bytes = (sizeof *h + h->bytes + 7) & ~(size_t)7;
	*at += bytes < left ? bytes : left;
	return h;
}

uint64_t tw_event_time(uint32_t type, const void *payload)
{
#define TIME_AT(type) offsetof(struct type, tsc)
	static const size_t at[TW_NEVENTS] = {
	    [TW_EVENT_KEYFRAME] = TIME_AT(tw_keyframe),
	    [TW_EVENT_SYSCALL] = TIME_AT(tw_syscall),
	    [TW_EVENT_THREAD_START] = TIME_AT(tw_thread_start),
	    [TW_EVENT_THREAD_END] = TIME_AT(tw_thread_end),
	    [TW_EVENT_FORK] = TIME_AT(tw_fork),
	    [TW_EVENT_PROGRAM] = TIME_AT(tw_program_start),
	    [TW_EVENT_CHILD_END] = TIME_AT(tw_child_end),
	    [TW_EVENT_WINDOW] = TIME_AT(tw_window),
	    [TW_EVENT_CALL] = TIME_AT(tw_called),
	    [TW_EVENT_RETURN] = TIME_AT(tw_returned),
	};
#undef TIME_AT
	if (type == TW_EVENT_STAMP)
		return ((const struct tw_stamp *)payload)->tsc; /* the one that stands at 0 */
	return type < TW_NEVENTS && at[type] ? *(const uint64_t *)((const uint8_t *)payload + at[type]) : 0;
}

const char *tw_left_out_text(uint32_t reason)
{
	static const char *const texts[] = {[TW_LEFT_OUT_BUDGET] = " budget", [TW_LEFT_OUT_BUFFER] = " buffer"};
	return reason < sizeof texts / sizeof *texts && texts[reason] ? texts[reason] : "";
}
