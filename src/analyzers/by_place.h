/*
 * Counts by function, or by source line: shared by analyzers that report where in the code something happens. Each
 * kind of count has a number.
 */
#ifndef TW_BY_PLACE_H
#define TW_BY_PLACE_H

#include <trackway/context.h>

enum { TW_PLACE_COUNTS = 8 };

/* A function, or a line of one; if the line is not known, the function again. */
struct tw_place {
	const char *function, *module, *file; /* as the names have them; file: NULL if it is not known */
	uint32_t line;
	uint64_t count[TW_PLACE_COUNTS];
};

/* All zeros but for the context. */
struct tw_by_place {
	const struct tw_context *context;
	struct tw_place *items;
	size_t n, room;
};

/* Of code at `pc` that `thread` ran. 0 or TW_ERR_MEMORY. */
int tw_by_place_add(struct tw_by_place *p, uint32_t thread, uint64_t pc, const uint64_t *count);

/* The same with other names than the context's. */
int tw_by_place_add_named(struct tw_by_place *p, struct tw_names *names, uint32_t image, uint64_t pc, const uint64_t *count);

/*
 * Combines the items of each line, or of each function; those with most of count number `by` come first. First by
 * lines, then by functions.
 */
void tw_by_place_lines(struct tw_by_place *p, unsigned by);
void tw_by_place_functions(struct tw_by_place *p, unsigned by);

/* "main busy.c:12". Where that is longer than fits, the function is cut, not the place. */
void tw_place_put(char *to, size_t size, const char *function, const char *file, unsigned line);

/* "main busy.c:12", or "main" if the line is not known. */
void tw_place_text(const struct tw_place *p, char *to, size_t size);

/* The same of code: "main busy.c:12", "main+0x17" or "libc.so.6+0x1234". */
void tw_place_of_code(struct tw_names *names, uint32_t image, uint64_t pc, char *to, size_t size);

void tw_by_place_free(struct tw_by_place *p);

#endif
