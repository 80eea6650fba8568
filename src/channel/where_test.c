/* WHERE, taken apart. */
#include "channel/where.h"
#include "unit.h"

static struct tw_where w;

static void value(const char *text, uint32_t kind, uint64_t n)
{
	CHECK(tw_where_parse(text, &w));
	EQUAL(w.kind, kind);
	EQUAL(w.value, n);
}

static void function(const char *text, const char *module, const char *name)
{
	CHECK(tw_where_parse(text, &w));
	EQUAL(w.kind, TW_WHERE_FUNCTION);
	SAME_TEXT(w.module, module);
	SAME_TEXT(w.function, name);
}

int main(void)
{
	static const char *const bad[] = {"",     "12",  "1.5i", "1x", "12.s.", "s!", "!f", "0x", "0x12g", "5 s", "99999999999999999999i",
	                                  "1e3s", "-1s!"};
	char long_name[2000];
	value("0x401000", TW_WHERE_ADDRESS, 0x401000);
	value("2s", TW_WHERE_TIME, 2000000000);
	value("1.5s", TW_WHERE_TIME, 1500000000);
	value("250ms", TW_WHERE_TIME, 250000000);
	value("0s", TW_WHERE_TIME, 0);
	value("12.5us", TW_WHERE_TIME, 12500);
	value("51947400ns", TW_WHERE_TIME, 51947400);
	value("17i", TW_WHERE_COUNT, 17);
	value("5ki", TW_WHERE_COUNT, 5000);
	value("3Mi", TW_WHERE_COUNT, 3000000);
	value("2Gi", TW_WHERE_COUNT, 2000000000);
	function("main", "", "main");
	function("libz!deflate", "libz", "deflate");
	function("_ZN1a1bEv", "", "_ZN1a1bEv");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK(!tw_where_parse(bad[i], &w));
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = 0;
	CHECK(!tw_where_parse(long_name, &w));
	return UNIT_END();
}
