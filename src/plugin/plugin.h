/*
 * Finding an analyzer: one of the library's own by name, or a plug-in, a shared object that exports a struct tw_plugin.
 */
#ifndef TW_PLUGIN_H
#define TW_PLUGIN_H

#include <stddef.h>
#include <trackway/analyzer.h>

/*
 * The analyzer of this name among those of our own, NULL behind the last one; with a slash in it, that of the plug-in in this file, which stays loaded. NULL: `why` is one sentence without a full stop: there
 * is none of that name, with those there are; or the file does not load, exports no table, or one for another version of the interface.
 */
const struct tw_analyzer *tw_plugin_find(const struct tw_analyzer *const *own, const char *name, char *why, size_t size);

#endif
