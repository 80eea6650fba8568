#include "names/demangle.h"

#include <libiberty/demangle.h>
#include <string.h>

char *tw_demangle(const char *name)
{
	const char *plain = name + strspn(name, "_");
	if (plain == name || (*plain != 'Z' && *plain != 'R'))
		return NULL;
	return cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
}
