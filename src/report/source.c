#include "report/source.h"
#include "base/array.h"
#include "recording/recording.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A larger file is no source. */
enum { LARGEST = 64 << 20 };

struct tw_source_file {
	char *text;         /* NULL: it cannot be read; lines end in NUL */
	const char **lines; /* where each begins */
	uint32_t n_lines;
	int looked; /* it has been looked for */
};

void tw_sources_init(struct tw_sources *s, const struct tw_recording *r)
{
	*s = (struct tw_sources){.recording = r};
}

void tw_sources_free(struct tw_sources *s)
{
	for (size_t i = 0; i < s->paths.n && i < s->room; i++) {
		free(s->files[i].text);
		free(s->files[i].lines);
	}
	free(s->files);
	tw_texts_free(&s->paths);
}

static int open_source(const struct tw_sources *s, const char *path)
{
	int fd = tw_recording_source(s->recording, path);
	return fd >= 0 ? fd : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* A whole file with a final NUL. NULL: it cannot be read. */
static char *read_whole(int fd, size_t *n)
{
	struct stat st;
	char *text = !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size < LARGEST ? malloc((size_t)st.st_size + 1) : NULL;
	if (text && tw_read_at(fd, text, (size_t)st.st_size, 0, "source")) {
		free(text);
		return NULL;
	}
	if (text) {
		*n = (size_t)st.st_size;
		text[*n] = 0;
	}
	return text;
}

/* Cuts the text into lines. */
static void cut(struct tw_source_file *f, size_t n)
{
	uint32_t lines = 1;
	for (size_t i = 0; i < n; i++)
		lines += f->text[i] == '\n';
	f->lines = calloc(lines, sizeof *f->lines);
	for (char *at = f->text; f->lines && at && f->n_lines < lines;) {
		f->lines[f->n_lines++] = at;
		at = strchr(at, '\n');
		if (at)
			*at++ = 0;
	}
}

static void look(const struct tw_sources *s, struct tw_source_file *f, const char *path)
{
	size_t n = 0;
	int fd = open_source(s, path);
	f->looked = 1;
	f->text = fd < 0 ? NULL : read_whole(fd, &n);
	if (fd >= 0)
		close(fd);
	if (f->text)
		cut(f, n);
}

const char *tw_source_line(struct tw_sources *s, const char *path, uint32_t line)
{
	uint32_t number = tw_texts_number(&s->paths, path);
	struct tw_source_file *files = number == TW_NO_TEXT ? NULL : tw_array_zeros(s->files, number, &s->room, sizeof *files);
	if (!files)
		return NULL;
	s->files = files;
	struct tw_source_file *f = &files[number];
	if (!f->looked)
		look(s, f, path);
	return line && line <= f->n_lines ? f->lines[line - 1] : NULL;
}
