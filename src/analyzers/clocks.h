/*
 * Vector clocks: how far each thread had got at some point, as far as another can know.
 */
#ifndef TW_CLOCKS_H
#define TW_CLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* By index of the thread; those from `n` on are 0. All zeros: nothing is known. */
struct tw_clocks {
	uint32_t *of;
	size_t n;
};

static inline uint32_t tw_clocks_get(const struct tw_clocks *c, size_t thread)
{
	return thread < c->n ? c->of[thread] : 0;
}

/* Sets the clock of a thread; makes `to` know what `from` knows. 0 or TW_ERR_MEMORY. */
int tw_clocks_set(struct tw_clocks *c, size_t thread, uint32_t clock);
int tw_clocks_join(struct tw_clocks *to, const struct tw_clocks *from);

/* Does `of` know all that `from` knows? */
int tw_clocks_know(const struct tw_clocks *of, const struct tw_clocks *from);

/* It knows nothing any more. */
void tw_clocks_clear(struct tw_clocks *c);
void tw_clocks_free(struct tw_clocks *c);

#endif
