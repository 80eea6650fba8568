/* What `trackway record --help` prints. */
#ifndef TW_RECORD_HELP_H
#define TW_RECORD_HELP_H

extern const char tw_record_help[];

#endif
