/*
 * The library's own analyzers. Each is one file in this folder with one line in table.c; docs/analyzers.md says how
 * to add one.
 */
#ifndef TW_ANALYZERS_TABLE_H
#define TW_ANALYZERS_TABLE_H

#include <trackway/analyzer.h>

/* By name, NULL behind the last one. */
extern const struct tw_analyzer *const tw_analyzers[];

extern const struct tw_analyzer tw_analyzer_branches;
extern const struct tw_analyzer tw_analyzer_cache;
extern const struct tw_analyzer tw_analyzer_cct;
extern const struct tw_analyzer tw_analyzer_deps;
extern const struct tw_analyzer tw_analyzer_diff;
extern const struct tw_analyzer tw_analyzer_footprint;
extern const struct tw_analyzer tw_analyzer_heap;
extern const struct tw_analyzer tw_analyzer_locks;
extern const struct tw_analyzer tw_analyzer_mix;
extern const struct tw_analyzer tw_analyzer_races;
extern const struct tw_analyzer tw_analyzer_sharing;
extern const struct tw_analyzer tw_analyzer_timeline;
extern const struct tw_analyzer tw_analyzer_touch;

#endif
