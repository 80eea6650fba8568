#include "cli/json.h"

#include <string.h>

static void begin(struct tw_json *j, const char *key)
{
	if (j->depth)
		fprintf(j->f, "%s\n%*s", j->first ? "" : ",", j->depth * 2, "");
	j->first = 0;
	if (key)
		fprintf(j->f, "\"%s\": ", key);
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

void tw_json_signed(struct tw_json *j, const char *key, int64_t value)
{
	begin(j, key);
	fprintf(j->f, "%lld", (long long)value);
}

void tw_json_real(struct tw_json *j, const char *key, double value)
{
	begin(j, key);
	fprintf(j->f, "%.6f", value);
}

void tw_json_bool(struct tw_json *j, const char *key, int value)
{
	begin(j, key);
	fputs(value ? "true" : "false", j->f);
}

/* Length of the UTF-8 character at `s` (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF); 0 if there is none. */
static int utf8_length(const unsigned char *s)
{
	int n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
	for (int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

void tw_json_text(struct tw_json *j, const char *key, const char *text)
{
	begin(j, key);
	fputc('"', j->f);
	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		int n = utf8_length(s);
		if (!n)
			fprintf(j->f, "\\u%04x", 0xdc00 + *s);
		else if (*s == '"' || *s == '\\')
			fprintf(j->f, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			fprintf(j->f, "\\u%04x", *s);
		else
			fwrite(s, 1, (size_t)n, j->f);
		s += n ? n : 1;
	}
	fputc('"', j->f);
}
