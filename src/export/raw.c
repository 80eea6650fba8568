#include "export/raw.h"
#include "base/channel.h"
#include "recording/recording.h"

#include <string.h>

/* What is left of a chunk. */
struct raw {
	struct tw_text *text;
	const struct tw_recording *recording;
	const struct tw_chunk *chunk;
	size_t c, m, e;
	uint32_t upper;
};

static const char *event_name(unsigned type)
{
	static const char *const names[TW_NEVENTS] = {
	    [TW_EVENT_KEYFRAME] = "keyframe",
	    [TW_EVENT_PARTIAL] = "partial",
	    [TW_EVENT_SYSCALL] = "syscall",
	    [TW_EVENT_SIGNAL] = "signal",
	    [TW_EVENT_SIGRETURN] = "sigreturn",
	    [TW_EVENT_SEGBASE] = "segbase",
	    [TW_EVENT_MAP] = "map",
	    [TW_EVENT_UNMAP] = "unmap",
	    [TW_EVENT_THREAD_START] = "thread-start",
	    [TW_EVENT_THREAD_END] = "thread-end",
	    [TW_EVENT_FORK] = "fork",
	    [TW_EVENT_EXEC] = "exec",
	    [TW_EVENT_GAP] = "gap",
	    [TW_EVENT_REFS] = "refs",
	    [TW_EVENT_PROGRAM] = "program",
	    [TW_EVENT_CHILD_END] = "child-end",
	    [TW_EVENT_WINDOW] = "window",
	    [TW_EVENT_STAMP] = "stamp",
	    [TW_EVENT_FAULT] = "fault",
	    [TW_EVENT_CALL] = "call",
	    [TW_EVENT_RETURN] = "return",
	    [TW_EVENT_LEARNED] = "learned",
	    [TW_EVENT_STACK] = "stack",
	};
	return type < TW_NEVENTS && names[type] ? names[type] : "?";
}

static int damaged(const struct raw *r, int error)
{
	return tw_fail(error, "thread %u, chunk %u, tag %zu", r->chunk->thread, r->chunk->sequence, r->c - 1);
}

/* The text at the end of an event's payload, if it has one. */
static const char *text_of(const struct tw_event_header *h, const uint8_t *payload)
{
	switch (h->type) {
	case TW_EVENT_MAP:
		return (const char *)payload + sizeof(struct tw_map);
	case TW_EVENT_GAP:
		return (const char *)payload + sizeof(struct tw_gap);
	case TW_EVENT_EXEC:
		return (const char *)payload;
	case TW_EVENT_PROGRAM:
		return (const char *)payload + sizeof(struct tw_program_start);
	default:
		return NULL;
	}
}

static void print_words(struct tw_text *t, const uint8_t *payload, size_t n)
{
	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t word;
		memcpy(&word, payload + i, sizeof word);
		tw_text_printf(t, " %llx", (unsigned long long)word);
	}
}

static int print_event(struct raw *r)
{
	const uint8_t *at = r->chunk->e + r->e;
	const struct tw_event_header *h = (const struct tw_event_header *)at;
	size_t left = r->chunk->n_e - r->e;
	if (left < sizeof *h || !tw_event_valid(h, at + sizeof *h, left - sizeof *h))
		return damaged(r, TW_ERR_STREAM);
	const char *text = text_of(h, at + sizeof *h);
	size_t words = text ? (size_t)((const uint8_t *)text - at) - sizeof *h : h->bytes;
	size_t bytes = (sizeof *h + h->bytes + 7) & ~(size_t)7;
	tw_text_printf(r->text, "  event %s", event_name(h->type));
	print_words(r->text, at + sizeof *h, words);
	if (text)
		tw_text_put(r->text, " ", 1);
	tw_text_safe(r->text, text ? text : "");
	tw_text_put(r->text, "\n", 1);
	if (h->type == TW_EVENT_KEYFRAME)
		memcpy(&r->upper, at + sizeof *h + offsetof(struct tw_keyframe, upper), sizeof r->upper);
	r->e += bytes < left ? bytes : left;
	return 0;
}

static int print_fragment(struct raw *r, uint16_t tag)
{
	uint32_t number = r->upper << 16 | tag;
	const struct tw_descriptor *d = tw_recording_descriptor(r->recording, number);
	if (!d)
		return damaged(r, TW_ERR_FRAGMENT);
	if (d->n_values > r->chunk->n_m - r->m)
		return damaged(r, TW_ERR_STREAM);
	tw_text_printf(r->text, "  %u", number);
	for (unsigned i = 0; i < d->n_values; i++)
		tw_text_printf(r->text, " %llx", (unsigned long long)r->chunk->m[r->m++]);
	tw_text_printf(r->text, "\n");
	return 0;
}

static int print_record(struct raw *r)
{
	uint16_t tag = r->chunk->c[r->c++];
	if (tag >= TW_TAG_FIRST)
		return print_fragment(r, tag);
	if (tag == TW_TAG_EVENT)
		return print_event(r);
	if (tag != TW_TAG_UPPER || r->c == r->chunk->n_c)
		return damaged(r, TW_ERR_STREAM);
	r->upper = r->chunk->c[r->c++];
	tw_text_printf(r->text, "  upper %u\n", r->upper);
	return 0;
}

int tw_raw_print(struct tw_text *t, const struct tw_recording *recording, const struct tw_chunk *chunk)
{
	struct raw r = {.text = t, .recording = recording, .chunk = chunk, .upper = chunk->upper};
	tw_text_printf(t, "thread %u chunk %u:%s%s %zu tags, %zu values, %zu bytes of events; upper %u\n", chunk->thread, chunk->sequence,
	               chunk->flags & TW_CHUNK_TORN ? " torn," : "", chunk->flags & TW_CHUNK_LAST ? " last," : "", chunk->n_c, chunk->n_m,
	               chunk->n_e, chunk->upper);
	int error = 0;
	while (!error && r.c < chunk->n_c)
		error = print_record(&r);
	return error;
}
