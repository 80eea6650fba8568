/*
 * Recordings whose recorder was killed, and which have a spool: the command that reads one has what is in it encoded first (channel/unspool.h).
 */
#ifndef TW_CLI_RECOVER_H
#define TW_CLI_RECOVER_H

/* Looks at each argument that is a directory, and says on stderr what came of it. */
void tw_recover_arguments(int argc, char **argv);

#endif
