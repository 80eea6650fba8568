/*
 * A request: an analyzer with its options. The same options are written --NAME VALUE on the command line of `analyze`
 * and NAME=VALUE, after a comma, in `record --with`. There are the analyzer's own, and common ones
 * (tw_common_options), which say what part of the execution it sees and where the answer goes.
 */
#ifndef TW_PLUGIN_REQUEST_H
#define TW_PLUGIN_REQUEST_H

#include "channel/where.h"
#include "names/file_store.h"
#include "plugin/answer.h"

#include <trackway/analyzer.h>
#include <trackway/names.h>

/* The part of an execution that an analyzer sees. All zeros: everything. */
struct tw_view {
	int has_thread;
	uint32_t thread;          /* serial number */
	struct tw_where from, to; /* TW_WHERE_COUNT: instructions of the thread; TW_WHERE_TIME: since the start; TW_WHERE_NONE: no limit */
	const char *function;     /* code of this function only: NAME or MODULE!NAME; NULL: any */
	const char *module;       /* only code of this file, by path or last component; NULL: any */
	const char *range;        /* only references to this memory: 0xADDRESS or SYMBOL, optionally with +BYTES; NULL: any */
};

/* One option's value. */
struct tw_setting {
	const char *value; /* as given, or the default; NULL: there is none */
	int given;
};

struct tw_request {
	const struct tw_analyzer *analyzer;
	const char *name;            /* as given */
	struct tw_setting *settings; /* of the analyzer's options, in their order */
	struct tw_view view;
	const char *output; /* a file for the answer; NULL: where all goes */
	enum tw_answer_form form;
	const char *form_option; /* that asked for a form; NULL: none did */
	const char *table;
	int64_t top; /* as in struct tw_answer_options */
	struct tw_names_options naming;
	const struct tw_name_store *store; /* of names of files; NULL: none */
};

extern const struct tw_option tw_common_options[];

/* Does the option take a value? 0: no; 1: yes; 2: optionally. */
int tw_option_wants(const struct tw_option *option);

/* Whether batches can be analyzed while the program runs: not if that needs names, or the order of threads. */
int tw_request_is_live(const struct tw_request *r);

/* A request without options. 0: no memory. The strings given to this and to tw_request_set must stay valid. */
int tw_request_init(struct tw_request *r, const struct tw_analyzer *analyzer, const char *name);
void tw_request_free(struct tw_request *r);

/* The options of an analyzer, its own first; NULL after the last. */
const struct tw_option *tw_request_option(const struct tw_analyzer *analyzer, size_t i);

/* The option that is given without its name, before DIR, if the analyzer has one. */
const struct tw_option *tw_request_argument(const struct tw_analyzer *analyzer);

/*
 * Sets an option by its position in that order. 0, or -1 with one sentence, without a full stop, in `why`: what is
 * wrong with the value. `value` NULL: none was given.
 */
int tw_request_set(struct tw_request *r, size_t option, const char *value, char *why, size_t size);

/* Whether the analyzer's mandatory option has been given; 1 if it has none. */
int tw_request_has_argument(const struct tw_request *r);

/*
 * Sets the options of a list, "json,top=5,range=0x1000+64", which is split in place. 0, or -1 as above; for an
 * unknown option, `why` lists the known ones.
 */
int tw_request_set_all(struct tw_request *r, char *list, char *why, size_t size);

/* The value of one of the analyzer's own options. Ends the process if it has no such option. */
const struct tw_setting *tw_request_setting(const struct tw_request *r, const char *option);

#endif
