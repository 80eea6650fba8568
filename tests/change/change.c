/* change SEED FROM TO: writes the recording FROM, which is whole, to the new directory TO, with something changed in it. */
#include "change.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		die(path);
	return fd;
}

static void copy_file(int from, int to, const char *name)
{
	struct tw_bytes b = {0};
	read_file(from, name, &b);
	write_file(to, name, &b);
	free(b.at);
}

static int is_there(int dir, const char *name)
{
	return !faccessat(dir, name, F_OK, 0);
}

int main(int argc, char **argv)
{
	struct tw_recording *r;
	if (argc != 4 || tw_recording_open(argv[2], &r) || mkdir(argv[3], 0777))
		die("change SEED FROM TO");
	seed(strtoull(argv[1], NULL, 0));
	int from = open_directory(argv[2]), to = open_directory(argv[3]);
	/* of eight changes one is in the header, where much is refused at once, two in the code, one in names; one in ten is in two places */
	enum { HEADER = 1, CODE = 6, NAMES = 8, THREADS = 0xf0 };
	const unsigned changed = 1u << below(tw_recording_n_threads(r) ? 8 : 4) | (once_in(10) ? 1u << below(8) : 0);
	const int has_code = is_there(from, TW_CODE_FILE); /* where nothing is recorded there is a header only */
	if (!has_code || changed & HEADER)
		change_header(from, to);
	else
		copy_file(from, to, TW_HEADER_FILE);
	if (has_code)
		copy_blocks(from, to, TW_CODE_FILE, changed & CODE);
	if (is_there(from, TW_NAMES_FILE))
		copy_blocks(from, to, TW_NAMES_FILE, changed & NAMES);
	copy_threads(r, from, to, changed & THREADS);
	tw_recording_close(r);
	close(from);
	close(to);
	return 0;
}
