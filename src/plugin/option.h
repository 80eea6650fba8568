/* The values of analyzers' options. */
#ifndef TW_PLUGIN_OPTION_H
#define TW_PLUGIN_OPTION_H

#include <trackway/analyzer.h>

/* The number that a value of kind NUMBER or BYTES is. 0: it is none. */
int tw_option_number(const struct tw_option *option, const char *value, uint64_t *out);

#endif
