#include "analyzers/held.h"
#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The effect of a kind of call on its lock. */
struct manner {
	enum { NONE, TAKES, GIVES, WAITS } does; /* WAITS: gives it, and takes it again before it returns */
	uint8_t shared, tries;
	enum { ALWAYS, IF_ZERO, IF_NOT_ZERO } taken;
	uint8_t argument;
};

static struct manner manner_of(uint8_t kind)
{
	static const struct manner manners[TW_NCALLED_KINDS] = {
	    [TW_CALLED_LOCK] = {TAKES, 0, 0, IF_ZERO, 0},
	    [TW_CALLED_TRY_LOCK] = {TAKES, 0, 1, IF_ZERO, 0},
	    [TW_CALLED_UNLOCK] = {GIVES, 0, 0, ALWAYS, 0},
	    [TW_CALLED_LOCK_SHARED] = {TAKES, 1, 0, IF_ZERO, 0},
	    [TW_CALLED_TRY_LOCK_SHARED] = {TAKES, 1, 1, IF_ZERO, 0},
	    [TW_CALLED_RWLOCK] = {TAKES, 0, 0, IF_ZERO, 0},
	    [TW_CALLED_TRY_RWLOCK] = {TAKES, 0, 1, IF_ZERO, 0},
	    [TW_CALLED_RWUNLOCK] = {GIVES, 0, 0, ALWAYS, 0},
	    [TW_CALLED_COND_WAIT] = {WAITS, 0, 0, ALWAYS, 1},
	    [TW_CALLED_OMP_LOCK] = {TAKES, 0, 0, ALWAYS, 0},
	    [TW_CALLED_OMP_TEST_LOCK] = {TAKES, 0, 1, IF_NOT_ZERO, 0},
	    [TW_CALLED_CRITICAL] = {TAKES, 0, 0, ALWAYS, 0},
	    [TW_CALLED_CRITICAL_END] = {GIVES, 0, 0, ALWAYS, 0},
	};
	return manners[kind];
}

static uint64_t lock_of(const struct tw_open_call *c, const struct manner *m)
{
	return c->kind == TW_CALLED_CRITICAL || c->kind == TW_CALLED_CRITICAL_END ? TW_HELD_CRITICAL : c->args[m->argument];
}

static size_t find(const struct tw_held *h, uint64_t addr)
{
	size_t i = h->n;
	while (i && h->items[i - 1].addr != addr)
		i--;
	return i;
}

static int take(struct tw_held *h, const struct tw_calling_step *call, const struct manner *m, struct tw_held_step *step)
{
	const uint64_t addr = lock_of(&call->call, m);
	const size_t i = find(h, addr);
	if (i) {
		h->items[i - 1].times++;
		return 0;
	}
	struct tw_held_lock *items = tw_array_room(h->items, h->n, &h->room, sizeof *items);
	if (!items)
		return TW_ERR_MEMORY;
	h->items = items;
	items[h->n] = (struct tw_held_lock){.addr = addr, .asked = call->call.tsc, .taken = call->tsc, .times = 1, .shared = m->shared};
	*step = (struct tw_held_step){.change = TW_HELD_TAKEN, .lock = items[h->n++]};
	return 0;
}

static void give(struct tw_held *h, uint64_t addr, struct tw_held_step *step)
{
	const size_t i = find(h, addr);
	*step = (struct tw_held_step){.change = TW_HELD_GIVEN, .lock = {.addr = addr}};
	if (!i)
		return; /* taken before the recording's window, or by another thread */
	if (--h->items[i - 1].times) {
		step->change = TW_HELD_NOTHING;
		return;
	}
	step->lock = h->items[i - 1];
	memmove(h->items + i - 1, h->items + i, (h->n-- - i) * sizeof *h->items);
}

static int is_taken(const struct manner *m, uint64_t result)
{
	const int r = (int)result;
	return m->taken == ALWAYS || (m->taken == IF_ZERO ? !r || r == EOWNERDEAD : r != 0);
}

int tw_held_take(struct tw_held *h, const struct tw_calling_step *call, struct tw_held_step *step)
{
	const struct manner m = manner_of(call->call.kind);
	*step = (struct tw_held_step){.change = TW_HELD_NOTHING};
	if (call->change == TW_CALLING_NOTHING || m.does == NONE)
		return 0;
	if (call->change == TW_CALLING_ENTERED) {
		if (m.does == TAKES)
			*step = (struct tw_held_step){TW_HELD_ASKED, {.addr = lock_of(&call->call, &m), .shared = m.shared}, m.tries};
		else
			give(h, lock_of(&call->call, &m), step);
		return 0;
	}
	if (m.does == GIVES)
		return 0;
	if (is_taken(&m, call->result))
		return take(h, call, &m, step);
	*step = (struct tw_held_step){.change = TW_HELD_REFUSED, .lock = {.addr = lock_of(&call->call, &m)}};
	return 0;
}

void tw_held_free(struct tw_held *h)
{
	free(h->items);
	memset(h, 0, sizeof *h);
}

void tw_held_name(struct tw_names *names, uint32_t image, uint64_t lock, char *to, size_t size)
{
	if (lock == TW_HELD_CRITICAL)
		snprintf(to, size, "critical");
	else if (!tw_names_variable(names, image, lock, to, size))
		snprintf(to, size, "0x%llx", (unsigned long long)lock);
}
