/*
 * What all ranks would say, one of them does.
 */
#ifndef TW_MPI_QUIET_H
#define TW_MPI_QUIET_H

/* Discards output to stdout and stderr until tw_be_loud(). Not for two threads at once. */
void tw_be_quiet(void);
void tw_be_loud(void);

#endif
