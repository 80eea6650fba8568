/*
 * `trackway cc`: runs a compiler so that what it compiles is instrumented. For each source: the compiler makes assembly, with the user's own flags; that is assembled
 * once for its encodings, rewritten, and assembled again. A link gets the run-time part, and is finished.
 */
#ifndef TW_CC_DRIVER_H
#define TW_CC_DRIVER_H

struct tw_cc_wishes {
	int values;              /* references are recorded */
	int large;               /* struct tw_cc_options */
	int assembly;            /* hand-written assembly is instrumented too */
	int switchable;          /* functions have a plain version beside the instrumented one */
	int verbose;             /* says what was done to each file */
	const char *const *only; /* patterns of functions and files, NULL-terminated; none: all */
	const char *const *not_;
	const char *batch; /* source or object of a batch routine, which programs and libraries get when they are linked; or NULL */
};

/* Exit status: the compiler's own. argv: the compiler's command. */
int tw_cc_drive(const struct tw_cc_wishes *wishes, int argc, char **argv);

#endif
