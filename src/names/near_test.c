#include "names/near.h"
#include "names/places.h"
#include "unit.h"

static void test_distance(void)
{
	EQUAL(tw_near_distance("sort", "sort", 2), 0);
	EQUAL(tw_near_distance("srot", "sort", 2), 1);
	EQUAL(tw_near_distance("sort", "sorts", 2), 1);
	EQUAL(tw_near_distance("", "ab", 2), 2);
	EQUAL(tw_near_distance("kitten", "sitting", 3), 3);
	EQUAL(tw_near_distance("sort", "printf", 2), 3);
}

static void test_module(void)
{
	static const char libc[] = "/usr/lib/x86_64-linux-gnu/libc.so.6";
	CHECK(tw_is_module(libc, "libc"));
	CHECK(tw_is_module(libc, "libc.so"));
	CHECK(tw_is_module(libc, "libc.so.6"));
	CHECK(tw_is_module(libc, libc));
	CHECK(!tw_is_module(libc, "lib"));
	CHECK(!tw_is_module(libc, "libc.s"));
	CHECK(!tw_is_module("/usr/lib/libcrypt.so.1", "libc"));
	CHECK(!tw_is_module("/bin/words.old", "words"));
}

int main(void)
{
	test_distance();
	test_module();
	return UNIT_END();
}
