#include "recording/recording.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const texts[-TW_ERR_LAST] = {
    [TW_OK] = "no error",
    [-TW_ERR_SYSTEM] = "a system call failed",
    [-TW_ERR_MEMORY] = "there is not enough memory",
    [-TW_ERR_NOT_FOUND] = "there is no such recording",
    [-TW_ERR_NOT_RECORDING] = "this is not a Trackway recording",
    [-TW_ERR_EMPTY] = "this is empty, not a recording",
    [-TW_ERR_VERSION] = "this version of Trackway cannot read the recording's format version",
    [-TW_ERR_TRUNCATED] = "the recording is truncated, a file ends early",
    [-TW_ERR_CHECKSUM] = "the recording is damaged, a checksum does not match",
    [-TW_ERR_DAMAGED] = "the recording is damaged, its contents contradict the format",
    [-TW_ERR_COUNT_ONLY] = "this recording was made with --sink=count and holds only totals",
    [-TW_ERR_RANGE] = "there is no such thread or chunk in the recording",
    [-TW_ERR_FRAGMENT] = "a chunk names a fragment that has no descriptor",
    [-TW_ERR_STREAM] = "the streams of a chunk do not fit together",
    [-TW_ERR_MISSING] = "the recording is damaged, files of it are missing",
    [-TW_ERR_NOTHING] = "this recording was made with -f none and holds nothing about what the program did",
    [-TW_ERR_TOTALS] = "the recording does not contain what was counted while recording",
};

static _Thread_local char detail[512];

const char *tw_error_text(int error)
{
	if (error > 0 || error <= TW_ERR_LAST)
		return "unknown error";
	return texts[-error];
}

const char *tw_recording_detail(void)
{
	return detail;
}

int tw_fail(int error, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(detail, sizeof detail, format, args);
	va_end(args);
	return error;
}

const char *tw_failure_sentence(int error, char *to, size_t size)
{
	if (error == TW_ERR_SYSTEM && detail[0])
		snprintf(to, size, "%s", detail);
	else
		snprintf(to, size, "%s%s%s%s", tw_error_text(error), detail[0] ? " (" : "", detail, detail[0] ? ")" : "");
	return to;
}
