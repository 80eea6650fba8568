#include "plugin/plugin.h"

#include <dlfcn.h>
#include <string.h>

static const struct tw_analyzer *refuse(void *file, char *why, size_t size, const char *what)
{
	snprintf(why, size, "%s", what);
	dlclose(file);
	return NULL;
}

static int has_option(const struct tw_analyzer *a, const char *name)
{
	for (const struct tw_option *o = a->options; o && o->name; o++)
		if (!strcmp(o->name, name))
			return 1;
	return 0;
}

/* What is wrong with a table, or NULL. */
static const char *fault_of(const struct tw_plugin *p)
{
	const struct tw_analyzer *a = p->analyzer;
	if (p->analyzer_bytes != sizeof *a)
		return "the size of its analyzer differs from this version's: it was built with other headers";
	if (!a || !a->name || !a->begin || !a->batch || !a->merge || !a->end)
		return "its table lacks a name, begin, batch, merge or end";
	if (a->argument && !has_option(a, a->argument))
		return "its table names an argument that is not among its options";
	return !a->pack != !a->unpack ? "its table has only one of pack and unpack" : NULL;
}

static const struct tw_analyzer *load(const char *path, char *why, size_t size)
{
	void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!file) {
		const char *error = dlerror();
		snprintf(why, size, "it does not load: %s", error ? error : "no reason given");
		return NULL;
	}
	const struct tw_plugin *p = dlsym(file, "tw_plugin");
	if (!p)
		return refuse(file, why, size, "it exports no tw_plugin: it is no plug-in (docs/analyzers.md)");
	if (p->version != TW_PLUGIN_VERSION) {
		snprintf(why, size, "it is built for version %u of the interface, this is version %u", p->version, TW_PLUGIN_VERSION);
		dlclose(file);
		return NULL;
	}
	const char *fault = fault_of(p);
	return fault ? refuse(file, why, size, fault) : p->analyzer;
}

static void list_known(const struct tw_analyzer *const *own, char *why, size_t size)
{
	size_t n = (size_t)snprintf(why, size, "there is no analyzer of that name; there are");
	for (size_t i = 0; own[i] && n < size; i++)
		n += (size_t)snprintf(why + n, size - n, "%s %s", i ? "," : "", own[i]->name);
	if (n < size)
		snprintf(why + n, size - n, "; a plug-in is given with a slash, as ./file.so");
}

const struct tw_analyzer *tw_plugin_find(const struct tw_analyzer *const *own, const char *name, char *why, size_t size)
{
	if (strchr(name, '/'))
		return load(name, why, size);
	for (size_t i = 0; own[i]; i++)
		if (!strcmp(own[i]->name, name))
			return own[i];
	list_known(own, why, size);
	return NULL;
}
