/*
 * The processes of a recording, as `trackway info` shows them: a tree in text, a list in JSON.
 */
#ifndef TW_TREE_H
#define TW_TREE_H

#include "report/json.h"
#include <trackway/recording.h>

void tw_tree_print(const struct tw_recording *r);

/* As member "processes" of the object that is open. */
void tw_tree_json(struct tw_json *j, const struct tw_recording *r);

#endif
