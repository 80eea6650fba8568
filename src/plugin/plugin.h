/*
 * Finds an analyzer: a built-in one by name, or a plug-in, a shared object that exports a struct tw_plugin.
 */
#ifndef TW_PLUGIN_H
#define TW_PLUGIN_H

#include <stddef.h>
#include <trackway/analyzer.h>

/*
 * The analyzer with this name among the built-in ones (NULL ends them). A name with a slash is the file of a plug-in,
 * which stays loaded. On failure NULL, with one sentence without a full stop in `why`: no analyzer of that name, with
 * the names there are; or the file does not load, exports no table, or one for another version of the interface.
 */
const struct tw_analyzer *tw_plugin_find(const struct tw_analyzer *const *own, const char *name, char *why, size_t size);

#endif
