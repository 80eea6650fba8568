/* What is asked of `trackway cc`. */
#ifndef TW_CC_WISHES_H
#define TW_CC_WISHES_H

struct tw_cc_wishes {
	int values;              /* references are recorded */
	int large, guard;        /* struct tw_cc_options */
	int assembly;            /* hand-written assembly is instrumented too */
	int switchable;          /* functions have a plain version beside the instrumented one */
	int verbose;             /* says what was done to each file */
	const char *const *only; /* patterns of functions and files, NULL-terminated; none: all */
	const char *const *not_;
	const char *batch; /* source or object of a batch routine, which is linked into programs and libraries; or NULL */
};

#endif
