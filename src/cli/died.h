/*
 * What a program died of, in words: thread, signal, place, access, and the calls that led there. For info, report and
 * the summary of record.
 *
 * `names` may be NULL: names are then opened if there is something to name.
 */
#ifndef TW_DIED_H
#define TW_DIED_H

#include "report/json.h"

#include <trackway/names.h>

/* All crashes of a recording, one paragraph each. Nothing if no process was killed, or the signal is unknown. */
void tw_died_print(FILE *f, const struct tw_recording *r, struct tw_names *names);

/* The first process in one line, without an end of line: "SIGSEGV in sum (crash.c:3): read of 4 bytes at 0x18"; 0: nothing is known. */
int tw_died_summary(FILE *f, const struct tw_recording *r, struct tw_names *names);

/* Lines "trackway: process 214 died of ..." about the first few other processes that crashed or aborted. */
void tw_died_others(FILE *f, const struct tw_recording *r);

/* A list "crashes" of objects. */
void tw_died_json(struct tw_json *j, const struct tw_recording *r, struct tw_names *names);

/* A signal as people call it: "SIGSEGV", or "signal 40". */
const char *tw_signal_name(int number, char to[24]);

#endif
