#include "analyzers/table.h"

#include <stddef.h>

const struct tw_analyzer *const tw_analyzers[] = {
    &tw_analyzer_branches, &tw_analyzer_cache,
    &tw_analyzer_cct,      &tw_analyzer_deps,
    &tw_analyzer_diff,     &tw_analyzer_footprint,
    &tw_analyzer_heap,     &tw_analyzer_locks,
    &tw_analyzer_mix,      &tw_analyzer_races,
    &tw_analyzer_sharing,  &tw_analyzer_timeline,
    &tw_analyzer_touch,    NULL,
};
