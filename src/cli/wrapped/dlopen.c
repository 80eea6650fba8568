/*
 * dlopen as libdwfl calls it from its archive (ld's --wrap). It loads libdebuginfod, and 30 libraries with that, for any file without debug information, which takes longer than all other names
 * of a short recording; without servers to ask that library does nothing.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *__real_dlopen(const char *file, int mode);
void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (file && !strncmp(file, "libdebuginfod", strlen("libdebuginfod")) && (!urls || !*urls))
		return NULL;
	return __real_dlopen(file, mode);
}
