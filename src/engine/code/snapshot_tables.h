/*
 * The second set of lookup tables, for a process that started with a snapshot (snapshot.h): it replaces the first
 * when all modules of the program's start are mapped. Also: when tables become wide (tables.h), which discards all
 * translations.
 */
#ifndef TW_SNAPSHOT_TABLES_H
#define TW_SNAPSHOT_TABLES_H

#include "engine/code/snapshot_entry.h"

/* A module that was expected has been mapped. Under the lock. */
void tw_snapshot_came(void);

/*
 * The process is at its program's entry: all modules mapped by now are part of its start. If their code is large, and
 * tables are not wide yet, all translations are discarded (as by tw_flush_restart), and later ones are made with wide
 * tables. Under the lock.
 */
void tw_snapshot_started(void);

/*
 * After a system call, before that: large modules run a lot before the program's entry, so tables become wide as soon
 * as they are mapped.
 */
void tw_snapshot_look_at_start(void);

#endif
