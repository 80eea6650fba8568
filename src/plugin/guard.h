/*
 * The guard: if a signal (SIGSEGV, SIGABRT...) or a call of exit() ends the process while an analyzer runs, one
 * sentence says so and names the analyzer. The process ends all the same, since its memory can no longer be trusted.
 */
#ifndef TW_PLUGIN_GUARD_H
#define TW_PLUGIN_GUARD_H

/* Installs the handlers. Messages begin with "trackway COMMAND: "; the exit status is `status`. `command` must outlive them. */
void tw_guard_install(const char *command, int status);

/* From here on, the calling thread runs code of the analyzer `name`, which must stay valid; NULL: of none. Returns the previous one. */
const char *tw_guard_enter(const char *name);

#endif
