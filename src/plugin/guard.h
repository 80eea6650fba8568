/*
 * The guard: a signal that ends the process (SIGSEGV, SIGABRT...) while an analyzer runs, and an analyzer that calls exit(), are told in one sentence which names the analyzer. The process
 * ends all the same: after that nothing in it can be trusted.
 */
#ifndef TW_PLUGIN_GUARD_H
#define TW_PLUGIN_GUARD_H

/* Installs the handlers. What is said begins with "trackway COMMAND: ", and the exit status is `status`. `command` must stay. */
void tw_guard_install(const char *command, int status);

/* The calling thread runs code of the analyzer `name` (which must stay) from here on; NULL: of none. Returns what it was before. */
const char *tw_guard_enter(const char *name);

#endif
