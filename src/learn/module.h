/* Files that facts are of, as they are now. */
#ifndef TW_LEARN_MODULE_H
#define TW_LEARN_MODULE_H

#include <stddef.h>
#include <stdint.h>

enum { TW_BUILD_ID_TEXT = 2 * 64 + 1, TW_MODULE_SEGMENTS = 8 };

struct tw_module_file {
	char build_id[TW_BUILD_ID_TEXT]; /* "": it has none */
	struct {
		uint64_t vaddr, offset, bytes;
	} code[TW_MODULE_SEGMENTS]; /* what is mapped executable */
	size_t n_code;
};

/* What cannot be read has neither build id nor code. */
void tw_module_read(const char *path, struct tw_module_file *m);

/* The file offset of a code address. 0: it is not in the file. */
int tw_module_offset(const struct tw_module_file *m, uint64_t vaddr, uint64_t *offset);

/* And the other way round. */
int tw_module_vaddr(const struct tw_module_file *m, uint64_t offset, uint64_t *vaddr);

#endif
