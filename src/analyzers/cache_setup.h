/*
 * The caches that the options of `cache` describe.
 */
#ifndef TW_CACHE_SETUP_H
#define TW_CACHE_SETUP_H

#include "analyzers/caches.h"

#include <trackway/context.h>

struct tw_cache_setup {
	struct tw_caches_options caches; /* without code where nothing that is executed is looked at */
	unsigned line_bits;
};

/* 0, or 1 after tw_context_wrong(). */
int tw_cache_setup(const struct tw_context *c, struct tw_cache_setup *out);

#endif
