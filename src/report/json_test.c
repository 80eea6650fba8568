#include "report/json.h"
#include "unit.h"

#include <stdlib.h>

static char *text_of(const char *value)
{
	char *out = NULL;
	size_t n;
	struct tw_json j = {.f = open_memstream(&out, &n)};
	tw_json_text(&j, NULL, value);
	fclose(j.f);
	return out;
}

static void same(const char *value, const char *expected)
{
	char *found = text_of(value);
	SAME_TEXT(found, expected);
	free(found);
}

static void structure(void)
{
	char *out = NULL;
	size_t n;
	struct tw_json j = {.f = open_memstream(&out, &n)};
	tw_json_open(&j, NULL, '{');
	tw_json_number(&j, "a", 1);
	tw_json_open(&j, "b", '[');
	tw_json_close(&j, ']');
	tw_json_open(&j, "c", '[');
	tw_json_signed(&j, NULL, -2);
	tw_json_bool(&j, NULL, 1);
	tw_json_close(&j, ']');
	tw_json_close(&j, '}');
	fclose(j.f);
	SAME_TEXT(out, "{\n  \"a\": 1,\n  \"b\": [],\n  \"c\": [\n    -2,\n    true\n  ]\n}\n");
	free(out);
}

int main(void)
{
	same("plain", "\"plain\"");
	same("a\"b\\c", "\"a\\\"b\\\\c\"");
	same("\n\t\x7f", "\"\\u000a\\u0009\\u007f\"");
	same("\xc3\xa9", "\"\xc3\xa9\"");
	same("\xff"
	     "a",
	     "\"\\udcffa\"");
	same("\xc3", "\"\\udcc3\"");
	same("\xed\xa0\x80", "\"\\udced\\udca0\\udc80\"");
	same("\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"");
	same("\xc0\xaf", "\"\\udcc0\\udcaf\"");
	structure();
	return UNIT_END();
}
