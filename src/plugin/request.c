#include "plugin/request.h"
#include "plugin/option.h"
#include "plugin/range.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The places of tw_common_options. */
enum common {
	COMMON_THREAD,
	COMMON_FROM,
	COMMON_TO,
	COMMON_FUNCTION,
	COMMON_MODULE,
	COMMON_RANGE,
	COMMON_TOP,
	COMMON_JSON,
	COMMON_CSV,
	COMMON_OUTPUT,
};

const struct tw_option tw_common_options[] = {
    [COMMON_THREAD] = {"thread", TW_OPTION_NUMBER, "N", NULL, "only this thread, numbered from 0 as in trackway info"},
    [COMMON_FROM] =
        {"from", TW_OPTION_TEXT, "WHEN", NULL,
         "only what ran from this point on: an instruction count of the thread (1000000i, 5Mi) or a time since the start (2.5s, 300ms)"},
    [COMMON_TO] = {"to", TW_OPTION_TEXT, "WHEN", NULL, "only what ran before this point"},
    [COMMON_FUNCTION] = {"function", TW_OPTION_TEXT, "NAME", NULL, "only code of this function, NAME or MODULE!NAME"},
    [COMMON_MODULE] = {"module", TW_OPTION_TEXT, "FILE", NULL, "only code of this file, given by its path or the last part of it"},
    [COMMON_RANGE] = {"range", TW_OPTION_TEXT, "WHAT", NULL,
                      "only references to this memory: 0xADDRESS, a variable or a part of one (table[3].next), optionally with +BYTES; "
                      "does not restrict code"},
    [COMMON_TOP] = {"top", TW_OPTION_NUMBER, "N", NULL, "rows per table; 0: all. Default 20, with --json and --csv all"},
    [COMMON_JSON] = {"json", TW_OPTION_FLAG, NULL, NULL, "print the answer as JSON"},
    [COMMON_CSV] = {"csv", TW_OPTION_TEXT, "TABLE", NULL, "print one table of the answer as CSV; default the first one"},
    [COMMON_OUTPUT] = {"output", TW_OPTION_TEXT, "FILE", NULL, "write the answer to FILE"},
    {NULL, 0, NULL, NULL, NULL},
};

static size_t count_options(const struct tw_option *options)
{
	size_t n = 0;
	while (options && options[n].name)
		n++;
	return n;
}

int tw_option_wants(const struct tw_option *option)
{
	if (option == &tw_common_options[COMMON_CSV])
		return 2;
	return option->kind != TW_OPTION_FLAG && option->kind != TW_OPTION_FORM;
}

int tw_request_init(struct tw_request *r, const struct tw_analyzer *analyzer, const char *name)
{
	size_t n = count_options(analyzer->options);
	*r = (struct tw_request){.analyzer = analyzer, .name = name, .top = -1};
	r->settings = calloc(n + 1, sizeof *r->settings);
	for (size_t i = 0; r->settings && i < n; i++)
		r->settings[i].value = analyzer->options[i].value;
	return r->settings != NULL;
}

int tw_request_is_live(const struct tw_request *r)
{
	const struct tw_view *v = &r->view;
	int by_name = v->function || v->module || (v->range && strncmp(v->range, "0x", 2));
	return r->analyzer->scope != TW_SCOPE_ALL && !(r->analyzer->needs & TW_NEEDS_NAMES) && !by_name;
}

void tw_request_free(struct tw_request *r)
{
	free(r->settings);
	r->settings = NULL;
}

const struct tw_option *tw_request_option(const struct tw_analyzer *analyzer, size_t i)
{
	size_t own = count_options(analyzer->options);
	const struct tw_option *o = i < own ? &analyzer->options[i] : &tw_common_options[i - own];
	return o->name ? o : NULL;
}

/* ---- values ---- */

/* Whether the value is one of the words "a|b|c". */
static int is_word(const char *words, const char *value)
{
	size_t n = strlen(value);
	for (const char *w = words; w; w = strchr(w, '|') ? strchr(w, '|') + 1 : NULL)
		if (n && strcspn(w, "|") == n && !memcmp(w, value, n))
			return 1;
	return 0;
}

static int say(char *why, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int say(char *why, size_t size, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(why, size, format, args);
	va_end(args);
	return -1;
}

static int check_value(const struct tw_option *o, const char *value, char *why, size_t size)
{
	uint64_t number;
	switch (o->kind) {
	case TW_OPTION_NUMBER:
		if (!tw_option_number(o, value, &number))
			return say(why, size, "--%s wants a number, not '%s'", o->name, value);
		break;
	case TW_OPTION_BYTES:
		if (!tw_option_number(o, value, &number))
			return say(why, size, "--%s wants a number of bytes, such as 4096, 32k or 1M, not '%s'", o->name, value);
		break;
	case TW_OPTION_WORD:
		if (!is_word(o->argument, value))
			return say(why, size, "--%s wants one of %s, not '%s'", o->name, o->argument, value);
		break;
	}
	return 0;
}

static int set_when(struct tw_where *to, const char *option, const char *value, char *why, size_t size)
{
	if (tw_where_parse(value, to) && (to->kind == TW_WHERE_COUNT || to->kind == TW_WHERE_TIME))
		return 0;
	return say(why, size, "--%s wants a count of instructions (5Mi) or a time (2.5s), not '%s'", option, value);
}

static int set_range(struct tw_request *r, const char *value, char *why, size_t size)
{
	struct tw_ranges ranges;
	int bad = tw_ranges_parse(&ranges, value);
	tw_ranges_free(&ranges);
	r->view.range = value;
	return bad ? say(why, size, "--range wants 0xADDRESS or a variable's name, optionally with +BYTES, not '%s'", value) : 0;
}

static int set_form(struct tw_request *r, const char *option, enum tw_answer_form form, char *why, size_t size)
{
	if (r->form_option && strcmp(r->form_option, option))
		return say(why, size, "--%s and --%s exclude each other", r->form_option, option);
	r->form_option = option;
	r->form = form;
	return 0;
}

static int set_common(struct tw_request *r, size_t option, const char *value, char *why, size_t size)
{
	uint64_t n = 0;
	switch (option) {
	case COMMON_THREAD:
		r->view.has_thread = tw_option_number(&tw_common_options[option], value, &n);
		r->view.thread = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
		return 0;
	case COMMON_FROM:
		return set_when(&r->view.from, "from", value, why, size);
	case COMMON_TO:
		return set_when(&r->view.to, "to", value, why, size);
	case COMMON_FUNCTION:
		r->view.function = value;
		return 0;
	case COMMON_MODULE:
		r->view.module = value;
		return 0;
	case COMMON_RANGE:
		return set_range(r, value, why, size);
	case COMMON_TOP:
		tw_option_number(&tw_common_options[option], value, &n);
		r->top = n < INT64_MAX ? (int64_t)n : 0;
		return 0;
	case COMMON_JSON:
		return set_form(r, "json", TW_ANSWER_JSON, why, size);
	case COMMON_CSV:
		r->table = value;
		return set_form(r, "csv", TW_ANSWER_CSV, why, size);
	default:
		r->output = value;
		return 0;
	}
}

int tw_request_set(struct tw_request *r, size_t option, const char *value, char *why, size_t size)
{
	const struct tw_option *o = tw_request_option(r->analyzer, option);
	size_t own = count_options(r->analyzer->options);
	if (value && !tw_option_wants(o))
		return say(why, size, "--%s takes no value", o->name);
	if (!value && tw_option_wants(o) == 1)
		return say(why, size, "--%s wants a value", o->name);
	if (value && (!*value || check_value(o, value, why, size)))
		return *value ? -1 : say(why, size, "--%s wants a value", o->name);
	if (option >= own)
		return set_common(r, option - own, value, why, size);
	r->settings[option] = (struct tw_setting){value ? value : "", 1};
	return o->kind == TW_OPTION_FORM ? set_form(r, o->name, TW_ANSWER_TEXT, why, size) : 0;
}

/* ---- lists ---- */

static int find_option(const struct tw_analyzer *analyzer, const char *name, size_t *at)
{
	const struct tw_option *o;
	for (*at = 0; (o = tw_request_option(analyzer, *at)); ++*at)
		if (!strcmp(o->name, name))
			return 1;
	return 0;
}

static int unknown(const struct tw_request *r, const char *name, char *why, size_t size)
{
	const struct tw_option *o;
	size_t n = (size_t)snprintf(why, size, "there is no option '%s'; there are", name);
	for (size_t i = 0; (o = tw_request_option(r->analyzer, i)) && n < size; i++)
		n += (size_t)snprintf(why + n, size - n, "%s %s", i ? "," : "", o->name);
	return -1;
}

int tw_request_set_all(struct tw_request *r, char *list, char *why, size_t size)
{
	size_t at;
	for (char *rest = list, *word; (word = strsep(&rest, ","));) {
		char *value = strchr(word, '=');
		if (value)
			*value++ = 0;
		if (!find_option(r->analyzer, word, &at))
			return unknown(r, word, why, size);
		if (tw_request_set(r, at, value, why, size))
			return -1;
	}
	return 0;
}

const struct tw_option *tw_request_argument(const struct tw_analyzer *analyzer)
{
	size_t i = 0;
	while (strcmp(tw_request_option(analyzer, i)->name, analyzer->argument))
		i++;
	return tw_request_option(analyzer, i);
}

int tw_request_has_argument(const struct tw_request *r)
{
	const char *argument = r->analyzer->argument;
	if (!argument)
		return 1;
	if (!strcmp(argument, tw_common_options[COMMON_RANGE].name))
		return r->view.range != NULL;
	return tw_request_setting(r, argument)->given;
}

const struct tw_setting *tw_request_setting(const struct tw_request *r, const char *option)
{
	const struct tw_option *own = r->analyzer->options;
	for (size_t i = 0; own && own[i].name; i++)
		if (!strcmp(own[i].name, option))
			return &r->settings[i];
	fprintf(stderr, "trackway: %s asks for its option '%s', which it does not have\n", r->name, option);
	abort();
}
