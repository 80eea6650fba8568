#include "html/compact.h"
#include "base/text.h"

#include <inttypes.h>

static void begin(struct tw_compact *c, const char *key)
{
	if (c->comma)
		putc(',', c->f);
	c->comma = 1;
	if (key)
		fprintf(c->f, "\"%s\":", key);
}

void tw_compact_open(struct tw_compact *c, const char *key, char bracket)
{
	begin(c, key);
	putc(bracket, c->f);
	c->comma = 0;
}

void tw_compact_close(struct tw_compact *c, char bracket)
{
	putc(bracket, c->f);
	c->comma = 1;
}

void tw_compact_number(struct tw_compact *c, const char *key, uint64_t value)
{
	begin(c, key);
	fprintf(c->f, "%" PRIu64, value);
}

void tw_compact_real(struct tw_compact *c, const char *key, double value)
{
	begin(c, key);
	fprintf(c->f, "%.9g", value);
}

void tw_compact_address(struct tw_compact *c, const char *key, uint64_t value)
{
	begin(c, key);
	fprintf(c->f, "\"0x%" PRIx64 "\"", value);
}

void tw_compact_text(struct tw_compact *c, const char *key, const char *text)
{
	begin(c, key);
	if (!text) {
		fputs("null", c->f);
		return;
	}
	putc('"', c->f);
	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		unsigned n = tw_utf8_length(s);
		if (!n)
			fputs("\\ufffd", c->f);
		else if (*s < 0x20 || *s == '<' || *s == 0x7f)
			fprintf(c->f, "\\u%04x", *s);
		else if (*s == '"' || *s == '\\')
			fprintf(c->f, "\\%c", *s);
		else
			fwrite(s, 1, n, c->f);
		s += n ? n : 1;
	}
	putc('"', c->f);
}

void tw_compact_json(struct tw_compact *c, const char *json)
{
	begin(c, NULL);
	fputs(json, c->f);
}
