/*
 * One file as libdwfl sees it, including separate debug information. Files are independent, so several threads may
 * each use one.
 */
#ifndef TW_DWARF_FILE_H
#define TW_DWARF_FILE_H

#include <elfutils/libdwfl.h>

struct tw_dwarf_file {
	Dwfl *dwfl;
	Dwfl_Module *module; /* NULL: the file cannot be read */
};

/* Opens the file at `path`, or fails; tw_dwarf_file_close in any case. */
void tw_dwarf_file_open(struct tw_dwarf_file *s, const char *path);
void tw_dwarf_file_close(struct tw_dwarf_file *s);

/* Has the user configured servers for missing debug information? */
int tw_debuginfod_is_asked(void);

#endif
