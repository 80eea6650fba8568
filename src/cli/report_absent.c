/* What trackway report says if its table has nothing of what was requested by name. */
#include "cli/report_state.h"
#include "names/names.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

/* The function that was asked for; NULL: none was. */
static const char *wanted_by(const struct report *r)
{
	return r->of ? r->of : r->function;
}

const struct tw_absent *report_absent(struct report *r)
{
	if (!r->looked && tw_absent_look(r->recording, wanted_by(r), r->module, &r->absent) < 0)
		tw_absent_free(&r->absent);
	r->looked = 1;
	return &r->absent;
}

/* Whether something of the function ran in the part under consideration. */
static int ran_here(const struct report *r, const char *wanted)
{
	for (size_t i = 0; i < r->costs.n_functions; i++)
		if (r->costs.functions[i].self.insns && tw_name_is(r->costs.functions[i].name, wanted) &&
		    (!r->module || tw_is_module(r->costs.functions[i].module, tw_base_name(r->module))))
			return 1;
	return 0;
}

/* Whether lines of it ran within other functions. */
static int ran_inlined(const struct report *r, const char *wanted)
{
	for (size_t i = 0; i < r->costs.n_lines; i++)
		if (tw_name_is(r->costs.lines[i].function, wanted))
			return 1;
	return 0;
}

/* ---- how it is told ---- */

/* `wrong`: what was requested does not exist. Otherwise this is an answer; in CSV the answer is the table alone. */
static int tell(struct report *r, const char *sentence, int wrong)
{
	if (r->rows.form == TW_ROWS_JSON)
		tw_json_text(r->rows.json, "absent", sentence);
	if (wrong)
		fprintf(stderr, "trackway report: %s: %s\n", r->dir, sentence);
	else if (r->rows.form == TW_ROWS_TEXT)
		fprintf(r->rows.f, "\n%s\n", sentence);
	return wrong;
}

static int tell_module(struct report *r)
{
	const char *mapped = NULL;
	char *sentence = NULL;
	for (size_t i = 0; i < tw_recording_n_modules(r->recording) && !mapped; i++)
		if (tw_is_module(tw_recording_module(r->recording, i)->path, r->module))
			mapped = tw_recording_module(r->recording, i)->path;
	const int n = mapped ? asprintf(&sentence, "%s was mapped, and no code of it was executed", mapped)
	                     : asprintf(&sentence, "no code of a file %s ran", r->module);
	if (n < 0)
		return TW_ERR_MEMORY;
	const int status = tell(r, sentence, !mapped);
	free(sentence);
	return status;
}

/* It ran, and still there is no row. */
static int tell_ran(struct report *r, const char *wanted)
{
	char *sentence = NULL;
	const char *why = r->table == REPORT_CALLERS   ? "no call of it was in the selected part"
	                  : r->table == REPORT_CALLEES ? "it called nothing"
	                  : r->table == REPORT_MEMORY  ? "it made no references to memory"
	                                               : "nothing of it is in this table";
	if (asprintf(&sentence, "%s ran, and %s", wanted, why) < 0)
		return TW_ERR_MEMORY;
	const int status = tell(r, sentence, 0);
	free(sentence);
	return status;
}

static int tell_absent(struct report *r, const char *wanted)
{
	const struct tw_absent *a = report_absent(r);
	char *all = NULL, *sentence = tw_absent_sentence(a, wanted);
	const char *more =
	    r->table != REPORT_LINES && ran_inlined(r, wanted) ? "; --lines shows what of it ran inlined in its callers" : "";
	if (!sentence || asprintf(&all, "%s%s", sentence, more) < 0)
		all = NULL;
	const int status = all ? tell(r, all, a->what == TW_ABSENT_NOWHERE) : TW_ERR_MEMORY;
	free(sentence);
	free(all);
	return status;
}

int report_judge(struct report *r)
{
	const char *wanted = wanted_by(r);
	if (r->rows.n > r->zero_rows || (!wanted && !r->module) || !r->costs.has_code)
		return 0;
	if (!wanted)
		return tell_module(r);
	return ran_here(r, wanted) ? tell_ran(r, wanted) : tell_absent(r, wanted);
}
