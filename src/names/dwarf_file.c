#include "names/dwarf_file.h"
#include "names/places.h"

#include <stdlib.h>

void tw_dwarf_file_open(struct tw_dwarf_file *s, const char *path)
{
	static const Dwfl_Callbacks callbacks = {
	    .find_elf = dwfl_build_id_find_elf,
	    .find_debuginfo = dwfl_standard_find_debuginfo,
	    .section_address = dwfl_offline_section_address,
	};
	*s = (struct tw_dwarf_file){dwfl_begin(&callbacks), NULL};
	if (!s->dwfl)
		return;
	s->module = dwfl_report_offline(s->dwfl, tw_base_name(path), path, -1);
	dwfl_report_end(s->dwfl, NULL, NULL);
}

void tw_dwarf_file_close(struct tw_dwarf_file *s)
{
	dwfl_end(s->dwfl);
	*s = (struct tw_dwarf_file){0};
}

int tw_debuginfod_is_asked(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	return urls && *urls;
}
