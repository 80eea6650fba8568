/* One function of a listing as JSON. */
#ifndef TW_FUNCTION_JSON_H
#define TW_FUNCTION_JSON_H

#include "analyzers/cache_run.h"
#include "html/compact.h"
#include "report/listing.h"

/*
 * A function as an object: {"name", "module", "file", "line", "programs", "files": [PATH...], "insns": [[ADDRESS,
 * EXECUTIONS, READS, WRITES, FILE or -1, LINE, TEXT, MISSES of the first level, of the last level]...] (misses only
 * if known), "blocks": [[FIRST INSN, INSNS, EXECUTIONS, ENDING]...], "edges": [[FROM BLOCK, TO BLOCK or -1, COUNT,
 * FALLS THROUGH, NAME of the target function if another]...], "source": [[FILE, FIRST LINE, [TEXT...]]...]}. Returns
 * the number of its instructions.
 */
size_t tw_function_json(struct tw_listing *l, const struct tw_cache_misses *misses, struct tw_compact *c,
                        const struct tw_listing_function *f);

#endif
