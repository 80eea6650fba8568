#include "report/printable.h"
#include "unit.h"

#include <stdlib.h>

static char *text;
static size_t n_text;

static FILE *begin(void)
{
	free(text);
	text = NULL;
	return open_memstream(&text, &n_text);
}

static void is(FILE *f, const char *wanted)
{
	fclose(f);
	SAME_TEXT(text, wanted);
}

static void cut(const char *s, unsigned columns, const char *wanted)
{
	FILE *f = begin();
	tw_print_cut(f, s, columns);
	is(f, wanted);
}

static void test_cut(void)
{
	cut("", 5, "");
	cut("abcde", 5, "abcde");
	cut("abcdef", 5, "abc..");
	cut("\xc3\xa4\xc3\xb6\xc3\xbc", 3, "\xc3\xa4\xc3\xb6\xc3\xbc");
	cut("\xc3\xa4\xc3\xb6\xc3\xbc", 2, "..");
	cut("\xc3\xa4\xc3\xb6\xc3\xbcxy", 4, "\xc3\xa4\xc3\xb6..");
	cut("\xf0\x9f\x90\xbe\xf0\x9f\x90\xbe\xf0\x9f\x90\xbe\xf0\x9f\x90\xbe", 3, "\xf0\x9f\x90\xbe..");
	cut("ab\xff\xffgh", 5, "ab\xff..");
}

static void test_command(void)
{
	const char *const words[] = {"sh", "-c", "it's\ta \xc3\xa4", "", NULL};
	FILE *f = begin();
	tw_print_command(f, words);
	is(f, "sh -c 'it'\\''s\\x09a \xc3\xa4' ''");
}

static void percent(uint64_t part, uint64_t whole, const char *wanted)
{
	char to[32];
	SAME_TEXT(tw_percent(part, whole, to), wanted);
}

static void test_percent(void)
{
	percent(1, 8, "12.5%");
	percent(1, 3000, "0.0333%");
	percent(999, 1000, "99.9%");
	percent(5, 5, "100%");
	percent(0, 5, "0%");
	percent(0, 0, "100%");
	percent(1, 1000000000, "less than 0.001%");
	percent(2, 100000, "0.002%");
}

int main(void)
{
	test_percent();
	test_cut();
	test_command();
	free(text);
	return UNIT_END();
}
