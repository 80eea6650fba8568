/* trackway report --html: the page. */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/report_state.h"
#include "html/page_write.h"
#include "recording/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int cannot_write(const char *file)
{
	fprintf(stderr, "trackway report: cannot write %s: %s\n", file, strerror(errno));
	return 1;
}

/* The page is written aside, so that a reader never sees half of one. */
static int write_page(struct tw_page *page, const char *file)
{
	char aside[4096];
	int to_stdout = !strcmp(file, "-");
	if (snprintf(aside, sizeof aside, "%s.%d.new", file, (int)getpid()) >= (int)sizeof aside) {
		errno = ENAMETOOLONG;
		return cannot_write(file);
	}
	FILE *f = to_stdout ? stdout : fopen(aside, "w");
	if (!f)
		return cannot_write(file);
	tw_page_write(page, f, 0);
	if (to_stdout)
		return 0;
	int wrong = ferror(f);
	if ((fclose(f) || wrong || rename(aside, file)) && cannot_write(file)) {
		unlink(aside);
		return 1;
	}
	return 0;
}

int report_html(struct report *r, const struct tw_replay_options *replay)
{
	struct tw_page page;
	if (tw_is_part_of(r->html, r->dir))
		return tw_usage_error("report", "%s is a file of the recording", r->html);
	int error = tw_recording_replayable(r->recording);
	if (!error)
		error = tw_page_open(&page, r->recording, r->dir, &r->naming, replay);
	else
		return tw_recording_error("report", r->dir, error);
	int status = error ? tw_recording_error("report", r->dir, error) : 0;
	if (!status)
		tw_names_report("report", page.names);
	if (!status)
		status = write_page(&page, r->html);
	tw_page_close(&page);
	return status;
}
