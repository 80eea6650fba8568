/*
 * The heat map as it is drawn: regions of memory that were touched, in rows of equal size, over columns of equal time.
 */
#ifndef TW_REGIONS_H
#define TW_REGIONS_H

#include "html/compact.h"
#include "html/story.h"

#include <trackway/context.h>

enum { TW_REGIONS_COLUMNS = 240, TW_REGIONS_ROWS = 240, TW_REGIONS_MOST = 48 };

/*
 * The member "heat": {"columns", "pages": BYTES of a page, "regions": [{"name", "thread": one of the program, whose memory it is, "start", "bytes", "row_bytes", "rows", "cells": [ROW, COLUMN, READS, WRITES, ...]}...],
 * "left_out": references to regions that are not among them}. Columns go from the first mark of the story to the last; where it has no times, from the first
 * instruction of each thread to its last.
 */
void tw_regions_json(struct tw_story *s, const struct tw_context *context, struct tw_names *names, struct tw_compact *c);

#endif
