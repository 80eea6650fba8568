#include "names/demangle.h"
#include "unit.h"

#include <stdlib.h>

static void check(const char *name, const char *expected)
{
	char *found = tw_demangle(name);
	if (expected)
		CHECK(found && !strcmp(found, expected));
	else
		CHECK(!found);
	if (found && expected && strcmp(found, expected))
		fprintf(stderr, "\t%s is %s, not %s\n", name, found, expected);
	free(found);
}

int main(void)
{
	check("main", NULL);
	check("_start", NULL);
	check("__libc_start_main", NULL);
	check("_Zebra", NULL);
	check("_ZN3app5TableIiE3addEi", "app::Table<int>::add(int)");
	check("_Z4workPKc.cold", "work(char const*) [clone .cold]");
	/* Rust: as before, with a hash, which is left out; and as since 1.37. */
	check("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	check("_RNvC6_123foo3bar", "123foo::bar");
	return UNIT_END();
}
