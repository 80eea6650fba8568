/* The values of analyzers' options. */
#ifndef TW_PLUGIN_OPTION_H
#define TW_PLUGIN_OPTION_H

#include <trackway/analyzer.h>

/* Parses the value of an option of kind NUMBER or BYTES. 0: not a number. */
int tw_option_number(const struct tw_option *option, const char *value, uint64_t *out);

#endif
