/* Where a function's code is entered, from its DIE. */
#ifndef TW_DWARF_ENTRY_H
#define TW_DWARF_ENTRY_H

#include <elfutils/libdw.h>

/*
 * As dwarf_entrypc, but also for functions in several parts (hot and cold), which dwarf_entrypc does not handle: they
 * are entered where their first part begins.
 */
static inline int tw_dwarf_entry(Dwarf_Die *die, Dwarf_Addr *entry)
{
	Dwarf_Addr base, end;
	return dwarf_entrypc(die, entry) && dwarf_ranges(die, 0, &base, entry, &end) <= 0;
}

#endif
