/*
 * Recordings with a spool whose recorder was killed: a command that reads one first has the spool's contents encoded
 * (channel/unspool.h).
 */
#ifndef TW_CLI_RECOVER_H
#define TW_CLI_RECOVER_H

/* Checks each argument that is a directory, and reports the result on stderr. */
void tw_recover_arguments(int argc, char **argv);

#endif
