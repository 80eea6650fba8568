/* Which names a user's word means. */
#include "names/names.h"
#include "unit.h"

int main(void)
{
	CHECK(tw_name_is("main", "main"));
	CHECK(!tw_name_is("main", "mai"));
	CHECK(!tw_name_is("mai", "main"));
	CHECK(tw_name_is("f<int>(long)", "f<int>"));
	CHECK(tw_name_is("f<int>(long)", "f<int>(long)"));
	CHECK(!tw_name_is("f<int>(long)", "f"));
	CHECK(tw_name_is("memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14"));
	CHECK(tw_name_is("memcpy@@GLIBC_2.14", "memcpy@GLIBC_2.14"));
	CHECK(tw_name_is("memcpy@@GLIBC_2.14", "memcpy"));
	CHECK(tw_name_is("memcpy", "memcpy@@GLIBC_2.14"));
	CHECK(!tw_name_is("memcpy@GLIBC_2.2.5", "memcpy@@GLIBC_2.14"));
	CHECK(!tw_name_is("memcpy@@GLIBC_2.14", "mem"));
	CHECK(!tw_name_is("memcpy@plt", "memcpy"));
	CHECK(!tw_name_is("memcpy", "memcpy@plt"));
	CHECK(tw_name_is("memcpy@plt", "memcpy@plt"));
	return UNIT_END();
}
