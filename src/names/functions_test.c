/* The functions of this very program: symbols, places inside and between them, PLT stubs. */
#include "names/functions.h"
#include "unit.h"

static Dwfl *report_self(Dwfl_Module **module)
{
	static const Dwfl_Callbacks callbacks = {
	    .find_elf = dwfl_build_id_find_elf,
	    .find_debuginfo = dwfl_standard_find_debuginfo,
	    .section_address = dwfl_offline_section_address,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	dwfl_report_begin(dwfl);
	*module = dwfl_report_offline(dwfl, "self", "/proc/self/exe", -1);
	dwfl_report_end(dwfl, NULL, NULL);
	return dwfl;
}

/* The file's address of a symbol of ours. */
static uint64_t address_of(Dwfl_Module *module, const char *wanted, uint64_t *bytes)
{
	GElf_Addr bias, address;
	GElf_Sym sym;
	dwfl_module_getelf(module, &bias);
	for (int i = 1; i < dwfl_module_getsymtab(module); i++) {
		const char *name = dwfl_module_getsym_info(module, i, &sym, &address, NULL, NULL, NULL);
		*bytes = sym.st_size;
		if (name && !strcmp(name, wanted))
			return address - bias;
	}
	return 0;
}

int main(void)
{
	Dwfl_Module *module;
	Dwfl *dwfl = report_self(&module);
	uint64_t bytes = 0, at = address_of(module, "main", &bytes);
	struct tw_functions *f = tw_functions_new(module);
	CHECK(f != NULL);
	CHECK(at && bytes > 1);
	const struct tw_function *found = tw_functions_find(f, at);
	CHECK(found && !strcmp(found->name, "main") && found->start == at);
	CHECK(tw_functions_find(f, at + bytes - 1) == found);
	CHECK(tw_functions_find(f, at + bytes) != found);
	CHECK(tw_functions_find(f, 0) == NULL);
	CHECK(tw_functions_find(f, UINT64_MAX) == NULL);
	int stubs = 0;
	for (uint64_t a = 0; a < 1 << 24; a += 8) {
		const struct tw_function *stub = tw_functions_find(f, a);
		stubs += stub && stub->plt && !strcmp(stub->name, "dwfl_begin");
	}
	CHECK(stubs > 0);
	tw_functions_free(f);
	dwfl_end(dwfl);
	return UNIT_END();
}
