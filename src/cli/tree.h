/*
 * The processes of a recording, as `trackway info` shows them: a tree in text, a list in JSON.
 */
#ifndef TW_TREE_H
#define TW_TREE_H

#include "cli/json.h"
#include <trackway/recording.h>

void tw_tree_print(const struct tw_recording *r);

/* As member "processes" of the object that is open. */
void tw_tree_json(struct tw_json *j, const struct tw_recording *r);

/* Prints any bytes so that a terminal is safe from them. */
void tw_print_safe(const char *s);

/* A command line, NULL-terminated, with words quoted for a shell where they must be. */
void tw_print_command(const char *const *argv);

#endif
