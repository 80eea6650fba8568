/* The outputs of trackway report: tables as text, JSON or comma-separated values, all from one replay; and the page. */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/report_state.h"
#include "html/page.h"
#include "html/page_write.h"
#include "recording/recording.h"

#include <string.h>

int report_has_tables(const struct report *r)
{
	int n = 0;
	for (int i = 0; i < REPORT_FORMS; i++)
		n += r->form[i] != NULL;
	return n > 0;
}

int report_to_stdout(const struct report *r)
{
	int n = r->html && !strcmp(r->html, "-");
	for (int i = 0; i < REPORT_FORMS; i++)
		n += r->form[i] && !strcmp(r->form[i], "-");
	return n;
}

static int say(int error)
{
	char why[PATH_MAX + 256];
	if (error)
		fprintf(stderr, "trackway report: %s\n", tw_failure_sentence(error, why, sizeof why));
	return error != 0;
}

static int open_file(const struct report *r, struct tw_outfile *o, const char *name)
{
	if (!name)
		return 0;
	if (tw_is_part_of(name, r->dir))
		return tw_usage_error("report", "%s is a file of the recording", name);
	return say(tw_outfile_open(o, name));
}

int report_open_files(struct report *r)
{
	int status = open_file(r, &r->page_file, r->html);
	for (int i = 0; i < REPORT_FORMS && !status; i++)
		status = open_file(r, &r->form_file[i], r->form[i]);
	return status;
}

/* ---- writing ---- */

/* Rows that a form shows where nothing else is said; 0: all. */
static uint64_t rows_of(const struct report *r, enum tw_rows_form form)
{
	if (r->top_given)
		return r->top;
	return form != TW_ROWS_TEXT ? 0 : r->table == REPORT_TREE ? 50 : 20;
}

int report_tables(struct report *r, const struct tw_replay_options *replay)
{
	int status = 0;
	r->most_rows = rows_of(r, r->form[TW_ROWS_JSON] || r->form[TW_ROWS_CSV] ? TW_ROWS_JSON : TW_ROWS_TEXT);
	for (int i = 0; i < REPORT_FORMS && status >= 0; i++) {
		if (!r->form[i])
			continue;
		r->rows = (struct tw_rows){.form = (enum tw_rows_form)i, .f = r->form_file[i].f, .top = rows_of(r, (enum tw_rows_form)i)};
		int one = report_print(r, replay);
		status = one ? one : status;
	}
	return status;
}

int report_page(struct report *r, const struct tw_replay_options *replay)
{
	struct tw_page page;
	int error = tw_page_open(&page, r->recording, r->dir, &r->naming, replay);
	if (!error && !report_has_tables(r))
		tw_names_report("report", page.names);
	if (!error)
		tw_page_write(&page, r->page_file.f, 0);
	tw_page_close(&page);
	return error;
}

int report_close_files(struct report *r, int keep)
{
	int status = say(tw_outfile_close(&r->page_file, keep));
	for (int i = 0; i < REPORT_FORMS; i++)
		status |= say(tw_outfile_close(&r->form_file[i], keep));
	return status;
}
