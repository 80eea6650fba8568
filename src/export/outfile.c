#include "export/outfile.h"
#include "recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot_write(const struct tw_outfile *o)
{
	return tw_fail(TW_ERR_SYSTEM, "cannot write %s: %s", o->name, strerror(errno));
}

/* Whether nothing but a regular file is replaced. */
static int is_replaceable(const char *name)
{
	struct stat st;
	return lstat(name, &st) ? errno == ENOENT : S_ISREG(st.st_mode);
}

/* A nameless file in the directory of `name`: nothing is left of it whatever happens to this process. Less than 0: not supported here. */
static int open_unnamed(const char *name)
{
	char folder[PATH_MAX];
	if (access("/proc/self/fd", X_OK) || snprintf(folder, sizeof folder, "%s", name) >= (int)sizeof folder)
		return -1;
	return open(dirname(folder), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

/* Gives a nameless file its temporary name. 0, or less with errno. */
static int name_it(struct tw_outfile *o)
{
	char link[64];
	if (!o->is_unnamed)
		return 0;
	o->is_unnamed = 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(o->f));
	return linkat(AT_FDCWD, link, AT_FDCWD, o->aside, AT_SYMLINK_FOLLOW);
}

int tw_outfile_open(struct tw_outfile *o, const char *name)
{
	*o = (struct tw_outfile){.name = name};
	if (!strcmp(name, "-")) {
		o->f = stdout;
		return 0;
	}
	const int aside = is_replaceable(name);
	if (aside && snprintf(o->aside, sizeof o->aside, "%s.%d.new", name, (int)getpid()) >= (int)sizeof o->aside) {
		errno = ENAMETOOLONG;
		return cannot_write(o);
	}
	const int unnamed = aside ? open_unnamed(name) : -1;
	o->is_unnamed = unnamed >= 0;
	o->f = o->is_unnamed ? fdopen(unnamed, "w") : fopen(aside ? o->aside : name, "we");
	if (!o->f && o->is_unnamed)
		close(unnamed);
	return o->f ? 0 : cannot_write(o);
}

const char *tw_outfile_path(struct tw_outfile *o)
{
	name_it(o);
	return *o->aside ? o->aside : o->name;
}

int tw_outfile_close(struct tw_outfile *o, int keep)
{
	FILE *f = o->f;
	if (!f || f == stdout || f == stderr) { /* of which main tells */
		o->f = NULL;
		return 0;
	}
	errno = 0;
	int wrong = keep && (fflush(f) || ferror(f) || name_it(o));
	int why = errno;
	if (fclose(f) && keep && !wrong) {
		wrong = 1;
		why = errno;
	}
	if (*o->aside && keep && !wrong && rename(o->aside, o->name)) {
		wrong = 1;
		why = errno;
	}
	if (*o->aside && (wrong || !keep))
		unlink(o->aside);
	o->f = NULL;
	errno = why ? why : EIO;
	return wrong ? cannot_write(o) : 0;
}
