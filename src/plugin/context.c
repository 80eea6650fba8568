#include "plugin/context.h"
#include "names/names.h"
#include "plugin/option.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

/* What changes while states are at work is under the lock. */
struct tw_context {
	const struct tw_request *request;
	const struct tw_recording *recording;
	struct tw_answer *answer;
	pthread_mutex_t lock;
	struct tw_names *names;
	char complaint[1024];
};

/* The interface hands out const contexts: analyzers do not change them. */
static struct tw_context *own(const struct tw_context *c)
{
	return (struct tw_context *)c;
}

struct tw_context *tw_context_new(const struct tw_request *request, const struct tw_recording *recording, struct tw_answer *answer)
{
	struct tw_context *c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->request = request;
	c->recording = recording;
	c->answer = answer;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

struct tw_context *tw_context_of_other(const struct tw_context *c, const struct tw_recording *recording)
{
	return tw_context_new(c->request, recording, NULL);
}

const struct tw_request *tw_context_request(const struct tw_context *c)
{
	return c->request;
}

void tw_context_free(struct tw_context *c)
{
	if (!c)
		return;
	tw_names_close(c->names);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* ---- options ---- */

int tw_context_flag(const struct tw_context *c, const char *option)
{
	return tw_request_setting(c->request, option)->given;
}

int tw_context_given(const struct tw_context *c, const char *option)
{
	return tw_request_setting(c->request, option)->given;
}

uint64_t tw_context_number(const struct tw_context *c, const char *option)
{
	static const struct tw_option any = {.kind = TW_OPTION_BYTES};
	const struct tw_setting *s = tw_request_setting(c->request, option);
	uint64_t n = 0;
	return s->value && tw_option_number(&any, s->value, &n) ? n : 0;
}

const char *tw_context_text(const struct tw_context *c, const char *option)
{
	return tw_request_setting(c->request, option)->value;
}

/* ---- what is analyzed ---- */

const struct tw_recording *tw_context_recording(const struct tw_context *c)
{
	return c->recording;
}

struct tw_names *tw_context_names(const struct tw_context *c)
{
	pthread_mutex_lock(&own(c)->lock);
	if (!c->names)
		own(c)->names = tw_names_open_storing(c->recording, &c->request->naming, c->request->store);
	pthread_mutex_unlock(&own(c)->lock);
	return c->names;
}

struct tw_names *tw_context_opened_names(const struct tw_context *c)
{
	return c->names;
}

uint64_t tw_context_ns(const struct tw_context *c, uint64_t tsc)
{
	const struct tw_recording_info *info = tw_recording_info(c->recording);
	if (!info->tsc_hz || tsc < info->tsc_start)
		return 0;
	return (uint64_t)((double)(tsc - info->tsc_start) * 1e9 / (double)info->tsc_hz);
}

/* ---- the answer ---- */

struct tw_answer *tw_context_answer(const struct tw_context *c)
{
	return c->answer;
}

int tw_context_wrong(const struct tw_context *c, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	pthread_mutex_lock(&own(c)->lock);
	if (!c->complaint[0])
		vsnprintf(own(c)->complaint, sizeof c->complaint, format, args);
	pthread_mutex_unlock(&own(c)->lock);
	va_end(args);
	return 1;
}

const char *tw_context_complaint(const struct tw_context *c)
{
	return c->complaint;
}
