/* The file `names` of a recording: blocks framed as in the code file. */
#include "recording/reader_state.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static int add_names(struct tw_recording *r, const struct tw_file_block *head, const uint8_t *bytes, uint64_t offset)
{
	(void)offset;
	if (head->kind != TW_BLOCK_NAMES)
		return TW_OK;
	struct tw_names_block *b = tw_reader_add(&r->names, sizeof *b);
	if (!b)
		return tw_fail(TW_ERR_MEMORY, TW_NAMES_FILE);
	*b = (struct tw_names_block){bytes, head->raw};
	return TW_OK;
}

int tw_reader_names(struct tw_recording *r)
{
	int error = tw_reader_blocks(r, TW_NAMES_FILE, add_names);
	return error == TW_ERR_NOT_FOUND ? TW_OK : error;
}

size_t tw_recording_n_names(const struct tw_recording *r)
{
	return r->names.n;
}

const struct tw_names_block *tw_recording_names(const struct tw_recording *r, size_t i)
{
	return (const struct tw_names_block *)r->names.items + i;
}

int tw_recording_source(const struct tw_recording *r, const char *path)
{
	char name[PATH_MAX];
	int n = snprintf(name, sizeof name, TW_SOURCES_DIRECTORY "/%s", path + strspn(path, "/"));
	return n < (int)sizeof name && !strstr(name, "/../") ? openat(r->dir_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
}
