/*
 * The heat map as drawn: regions of memory that were touched, in rows of equal size, over columns of equal time.
 */
#ifndef TW_REGIONS_H
#define TW_REGIONS_H

#include "html/compact.h"
#include "html/story.h"

#include <trackway/context.h>

enum { TW_REGIONS_COLUMNS = 240, TW_REGIONS_ROWS = 240, TW_REGIONS_MOST = 48 };

/*
 * The member "heat": {"columns", "pages": BYTES of a page, "regions": [{"name", "thread": one of the program that
 * owns the memory, "start", "bytes", "row_bytes", "rows", "cells": [ROW, COLUMN, READS, WRITES, ...]}...],
 * "left_out": references to regions that are not included}. Columns span the story's first to last mark; without
 * times, each thread's first to last instruction.
 */
void tw_regions_json(struct tw_story *s, const struct tw_context *context, struct tw_names *names, struct tw_compact *c);

#endif
