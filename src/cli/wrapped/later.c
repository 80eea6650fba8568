#include "cli/wrapped/later.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void *tw_later(void **at, const char *library, const char *function)
{
	void *f = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	if (f)
		return f;
	void *loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
	f = loaded ? dlsym(loaded, function) : NULL;
	if (!f) {
		fprintf(stderr, "trackway: %s\n", dlerror());
		exit(2);
	}
	__atomic_store_n(at, f, __ATOMIC_RELEASE);
	return f;
}
