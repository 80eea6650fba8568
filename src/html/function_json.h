/* One function of a listing as JSON. */
#ifndef TW_FUNCTION_JSON_H
#define TW_FUNCTION_JSON_H

#include "analyzers/cache_run.h"
#include "html/compact.h"
#include "report/listing.h"

/*
 * A function as an object: {"name", "module", "file", "line", "programs",
 * "files": [PATH...],
 * "insns": [[ADDRESS, EXECUTIONS, READS, WRITES, FILE or -1, LINE, TEXT, MISSES of the first level, of the last one]...]; without misses where there are none,
 * "blocks": [[FIRST INSN, INSNS, EXECUTIONS, ENDING]...],
 * "edges": [[FROM BLOCK, TO BLOCK or -1, COUNT, FALLS THROUGH, NAME of where it leads if that is another function]...],
 * "source": [[FILE, FIRST LINE, [TEXT...]]...]}.
 * Returns how many instructions it has.
 */
size_t tw_function_json(struct tw_listing *l, const struct tw_cache_misses *misses, struct tw_compact *c,
                        const struct tw_listing_function *f);

#endif
