/* The place of a new recording. */
#include "recording/recording.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether `dir` holds a recording, of whatever version and state. */
static int is_recording(const char *dir)
{
	struct tw_recording_info info;
	int error = tw_header_read(dir, &info);
	tw_header_free(&info);
	return error == TW_OK || error == TW_ERR_VERSION || error == TW_ERR_TRUNCATED || error == TW_ERR_CHECKSUM ||
	       error == TW_ERR_DAMAGED;
}

static int is_our_file(const char *name)
{
	return !strcmp(name, TW_HEADER_FILE) || !strcmp(name, TW_HEADER_FILE ".new") || !strcmp(name, TW_CODE_FILE) ||
	       !strncmp(name, "thread-", 7);
}

/* Removes the files of a recording, then its directory; what else is in it stays, and so does the directory. */
static int remove_recording(const char *dir)
{
	char path[PATH_MAX * 2];
	DIR *d = opendir(dir);
	if (!d)
		return tw_fail(TW_ERR_SYSTEM, "%s: %s", dir, strerror(errno));
	for (struct dirent *e; (e = readdir(d));) {
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (is_our_file(e->d_name))
			unlink(path);
	}
	closedir(d);
	if (rmdir(dir))
		return tw_fail(TW_ERR_SYSTEM, "%s cannot be replaced: %s", dir, strerror(errno));
	return TW_OK;
}

static int move_away(const char *dir)
{
	char old[PATH_MAX + 8];
	snprintf(old, sizeof old, "%s.old", dir);
	if (!access(old, F_OK) && rmdir(old)) {
		if (!is_recording(old))
			return tw_fail(TW_ERR_NOT_RECORDING, "%s, where the recording before would go, is not touched", old);
		int error = remove_recording(old);
		if (error)
			return error;
	}
	if (rename(dir, old))
		return tw_fail(TW_ERR_SYSTEM, "%s cannot be renamed to %s: %s", dir, old, strerror(errno));
	return TW_OK;
}

int tw_directory_prepare(const char *dir)
{
	if (!mkdir(dir, 0777))
		return TW_OK;
	if (errno != EEXIST)
		return tw_fail(TW_ERR_SYSTEM, "%s cannot be made: %s", dir, strerror(errno));
	if (is_recording(dir)) {
		int error = move_away(dir);
		if (error)
			return error;
	} else if (rmdir(dir)) { /* works on an empty directory only */
		return tw_fail(TW_ERR_NOT_RECORDING, "%s is there already and holds something else, which is not touched", dir);
	}
	if (mkdir(dir, 0777))
		return tw_fail(TW_ERR_SYSTEM, "%s cannot be made: %s", dir, strerror(errno));
	return TW_OK;
}
