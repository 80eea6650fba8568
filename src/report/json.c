#include "report/json.h"
#include "base/text.h"

#include <math.h>

/* Version of all schemas of docs/json.md: raised when a key is removed or changes its meaning, not for new keys. */
enum { TW_JSON_VERSION = 1 };

static void put_text(FILE *f, const char *text)
{
	fputc('"', f);
	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		unsigned n = tw_utf8_length(s);
		if (!n)
			fprintf(f, "\\u%04x", 0xdc00 + *s);
		else if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			fprintf(f, "\\u%04x", *s);
		else
			fwrite(s, 1, n, f);
		s += n ? n : 1;
	}
	fputc('"', f);
}

static void begin(struct tw_json *j, const char *key)
{
	if (j->depth)
		fprintf(j->f, "%s\n%*s", j->first ? "" : ",", j->depth * 2, "");
	j->first = 0;
	if (key) {
		put_text(j->f, key);
		fputs(": ", j->f);
	}
}

void tw_json_open(struct tw_json *j, const char *key, char bracket)
{
	begin(j, key);
	fputc(bracket, j->f);
	j->depth++;
	j->first = 1;
}

void tw_json_close(struct tw_json *j, char bracket)
{
	j->depth--;
	if (!j->first)
		fprintf(j->f, "\n%*s", j->depth * 2, "");
	fputc(bracket, j->f);
	j->first = 0;
	if (!j->depth)
		fputc('\n', j->f);
}

void tw_json_number(struct tw_json *j, const char *key, uint64_t value)
{
	begin(j, key);
	fprintf(j->f, "%llu", (unsigned long long)value);
}

void tw_json_begin(struct tw_json *j, const char *name)
{
	char schema[64];
	snprintf(schema, sizeof schema, "trackway-%s-%d", name, TW_JSON_VERSION);
	tw_json_open(j, NULL, '{');
	tw_json_text(j, "schema", schema);
}

void tw_json_signed(struct tw_json *j, const char *key, int64_t value)
{
	begin(j, key);
	fprintf(j->f, "%lld", (long long)value);
}

void tw_json_real(struct tw_json *j, const char *key, double value)
{
	begin(j, key);
	fprintf(j->f, isfinite(value) ? "%.6f" : "null", value);
}

void tw_json_bool(struct tw_json *j, const char *key, int value)
{
	begin(j, key);
	fputs(value ? "true" : "false", j->f);
}

void tw_json_null(struct tw_json *j, const char *key)
{
	begin(j, key);
	fputs("null", j->f);
}

void tw_json_text(struct tw_json *j, const char *key, const char *text)
{
	begin(j, key);
	put_text(j->f, text);
}
