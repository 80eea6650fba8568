/* The place of a new recording. */
#include "recording/recording.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
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
	uint32_t serial;
	return !strcmp(name, TW_HEADER_FILE) || !strcmp(name, TW_HEADER_FILE ".new") || !strcmp(name, TW_CODE_FILE) ||
	       !strcmp(name, TW_NAMES_FILE) || !strcmp(name, TW_NAMES_FILE ".new") || !strcmp(name, TW_INDEX_FILE) ||
	       !strcmp(name, TW_INDEX_FILE ".new") || !strcmp(name, TW_SPOOL_FILE) || tw_thread_file(name, &serial);
}

/* Does an open directory contain only the files of a recording? */
static int is_all_ours(DIR *d)
{
	int all = 1;
	for (struct dirent *e; (e = readdir(d));)
		all &= is_our_file(e->d_name) || !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	rewinddir(d);
	return all;
}

int tw_directory_has_others(const char *dir)
{
	DIR *d = opendir(dir);
	int others = 0;
	for (struct dirent *e; d && (e = readdir(d));)
		others |=
		    !is_our_file(e->d_name) && strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && strcmp(e->d_name, TW_SOURCES_DIRECTORY);
	if (d)
		closedir(d);
	return others;
}

int tw_directory_remove(const char *dir)
{
	DIR *d = opendir(dir);
	if (!d)
		return tw_fail(TW_ERR_SYSTEM, "%s: %s", dir, strerror(errno));
	if (!is_all_ours(d)) {
		closedir(d);
		return tw_fail(TW_ERR_SYSTEM, "%s cannot be replaced: there is something else in it too", dir);
	}
	for (struct dirent *e; (e = readdir(d));)
		if (is_our_file(e->d_name))
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	return rmdir(dir) ? tw_fail(TW_ERR_SYSTEM, "%s cannot be replaced: %s", dir, strerror(errno)) : TW_OK;
}

static int move_away(const char *dir)
{
	char old[PATH_MAX + 8];
	snprintf(old, sizeof old, "%s.old", dir);
	if (!access(old, F_OK) && rmdir(old)) {
		if (!is_recording(old))
			return tw_fail(TW_ERR_SYSTEM, "%s cannot be replaced: it is no recording", old);
		int error = tw_directory_remove(old);
		if (error)
			return error;
	}
	if (rename(dir, old))
		return tw_fail(TW_ERR_SYSTEM, "it cannot be renamed to %s: %s", old, strerror(errno));
	return TW_OK;
}

void tw_directory_abandon(const char *dir)
{
	char why[512];
	snprintf(why, sizeof why, "%s", tw_recording_detail());
	tw_directory_remove(dir);
	tw_fail(TW_OK, "%s", why);
}

int tw_directory_prepare(const char *dir)
{
	if (!mkdir(dir, 0777))
		return TW_OK;
	if (errno != EEXIST)
		return tw_fail(TW_ERR_SYSTEM, "the directory cannot be made: %s", strerror(errno));
	if (is_recording(dir)) {
		int error = move_away(dir);
		if (error)
			return error;
	} else if (rmdir(dir)) { /* works on an empty directory only */
		return tw_fail(TW_ERR_NOT_RECORDING, "existing files are not touched");
	}
	if (mkdir(dir, 0777))
		return tw_fail(TW_ERR_SYSTEM, "the directory cannot be made: %s", strerror(errno));
	return TW_OK;
}
