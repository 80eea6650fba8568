#include "export/outfile.h"
#include "recording/recording.h"

#include <errno.h>
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
	o->f = fopen(aside ? o->aside : name, "w");
	return o->f ? 0 : cannot_write(o);
}

const char *tw_outfile_path(const struct tw_outfile *o)
{
	return *o->aside ? o->aside : o->name;
}

int tw_outfile_close(struct tw_outfile *o, int keep)
{
	FILE *f = o->f;
	o->f = NULL;
	if (!f || f == stdout) /* of which main tells */
		return 0;
	errno = 0;
	int wrong = (fflush(f) || ferror(f)) && keep;
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
	errno = why ? why : EIO;
	return wrong ? cannot_write(o) : 0;
}
