/*
 * Programs as machine code: walks use it for the frequent programs; it is several times as fast as executing step by
 * step.
 *
 * The code of a program reads the values of one execution, sets the registers, writes its references and blocks to
 * the batch, takes the next tag and jumps to that fragment's code. It returns to the walk when the batch is full, the
 * tags are at their end, a helper of the walk reports an error, or a tag needs the walk: an event, a fragment without
 * code, one whose values are not all there. Then that tag is the next one again. What must hold on entry: a keyframe
 * was seen, no PARTIAL event waits for its fragment.
 *
 * Any number of threads may run and add code. Code is never changed or moved.
 */
#ifndef TW_CODE_H
#define TW_CODE_H

#include "replay/kept.h"
#include "replay/program.h"

struct tw_value_map;
struct tw_value_slot;
struct tw_walk;
struct tw_code;

/* NULL: no memory, or none that can be executed. Then walks go step by step. */
/* `values` as in tw_programs_new. */
struct tw_code *tw_code_new(const struct tw_value_map *values);
void tw_code_free(struct tw_code *c);

/* Before any code is added: the addresses that it must compute. */
void tw_code_set_addresses(struct tw_code *c, enum tw_addresses addresses);

/* What was set; of NULL: all. */
enum tw_addresses tw_code_addresses(const struct tw_code *c);

/* The greatest number of a stretch; it grows while code is added. Of NULL: NULL. */
const uint32_t *tw_code_newest_stretch(const struct tw_code *c);

/* All stretches that code of any program has, and will have. Of NULL: none. */
struct tw_kept_stretches tw_code_stretches(const struct tw_code *c);

/* Makes code for a program, which must stay; again if needed. If that is impossible (memory is used up) nothing changes. */
void tw_code_add(struct tw_code *c, const struct tw_program *p, const struct tw_value_slot *slots);

/* The same, but returns 0 at once, with nothing done, while another thread adds. */
int tw_code_try_add(struct tw_code *c, const struct tw_program *p, const struct tw_value_slot *slots);

/* Is there code of the program with this number? */
int tw_code_has(const struct tw_code *c, uint32_t number);

/* Continues from the walk's next tag, as far as there is code. Returns 0 or an error of a helper. w->upper may have changed. */
int tw_code_run(struct tw_code *c, struct tw_walk *w);

#endif
