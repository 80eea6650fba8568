#include "analyzers/predictors.h"

#include <string.h>

/* Lengths of histories; bits of tags. */
enum { L0 = 5, L1 = 15, L2 = 44, L3 = 130, T0 = 8, T1 = 8, T2 = 9, T3 = 9 };
static const uint8_t tag_bits[TW_TAGE_TABLES] = {T0, T1, T2, T3};
enum { INDEX_BITS = 10, RESET = 1 << 18 };

typedef uint64_t two_words __attribute__((vector_size(16)));

void tw_predictors_init(struct tw_predictors *p)
{
	memset(p, 0, sizeof *p);
	memset(p->bimodal, 1, sizeof p->bimodal);
	memset(p->gshare, 1, sizeof p->gshare);
	memset(p->base, 1, sizeof p->base);
	p->use_alternative = 8;
}

/* A counter of 2 bits: what it said, and it learns. */
static int count(uint8_t *counter, int taken)
{
	const int now = *counter, more = now<3, less = now> 0;
	*counter = (uint8_t)(now + (taken ? more : -less));
	return now >= 2;
}

/* ---- TAGE ---- */

static uint32_t place_in(const struct tw_predictors *p, int table, uint64_t pc)
{
	return (uint32_t)(pc ^ pc >> INDEX_BITS ^ p->folds[0][table]) % TW_TAGE_ENTRIES;
}

static uint16_t tag_in(const struct tw_predictors *p, int table, uint64_t pc)
{
	return (uint16_t)((pc ^ p->folds[0][TW_TAGE_TABLES + table] ^ (uint32_t)p->folds[1][table] << 1) & ((1u << tag_bits[table]) - 1));
}

static uint64_t outcome(const struct tw_predictors *p, uint32_t age)
{
	return p->history[(p->newest - age) % TW_HISTORY];
}

/*
 * The newest outcome enters at bit 0, the oldest is removed at its position; bits shifted out at the top enter at bit
 * 0. `out`: 16 bits of ones or zeros for each.
 */
#define OUT(length, bits) (uint16_t)(1u << (length) % (bits))
#define TOP(bits)         (uint16_t)(1u << (bits))
static void fold(tw_folds *f, uint16_t in, tw_folds out, tw_folds at, tw_folds top)
{
	tw_folds v = (*f << 1 | in) ^ (out & at);
	v ^= (tw_folds)((v & top) != 0) & 1;
	*f = v & (top - 1);
}

static void remember(struct tw_predictors *p, int taken)
{
	static const tw_folds at[2] = {{OUT(L0, INDEX_BITS), OUT(L1, INDEX_BITS), OUT(L2, INDEX_BITS), OUT(L3, INDEX_BITS), OUT(L0, T0),
	                                OUT(L1, T1), OUT(L2, T2), OUT(L3, T3)},
	                               {OUT(L0, T0 - 1), OUT(L1, T1 - 1), OUT(L2, T2 - 1), OUT(L3, T3 - 1)}};
	static const tw_folds top[2] = {
	    {TOP(INDEX_BITS), TOP(INDEX_BITS), TOP(INDEX_BITS), TOP(INDEX_BITS), TOP(T0), TOP(T1), TOP(T2), TOP(T3)},
	    {TOP(T0 - 1), TOP(T1 - 1), TOP(T2 - 1), TOP(T3 - 1), 1, 1, 1, 1}};
	const uint64_t out = outcome(p, L0 - 1) | outcome(p, L1 - 1) << 16 | outcome(p, L2 - 1) << 32 | outcome(p, L3 - 1) << 48;
	const tw_folds outs = (tw_folds)(two_words){out * 0xffff, out * 0xffff};
	fold(&p->folds[0], (uint16_t)taken, outs, at[0], top[0]);
	fold(&p->folds[1], (uint16_t)taken, outs, at[1], top[1]);
	p->history[++p->newest % TW_HISTORY] = (uint8_t)taken;
	p->recent = (p->recent << 1 | (uint32_t)taken) % TW_COUNTERS;
}
#undef OUT
#undef TOP

/* What the tables say: the longest history that matches, and the one after it. */
struct guess {
	struct tw_tage_entry *entry[TW_TAGE_TABLES]; /* where the branch is, or would be */
	uint16_t tag[TW_TAGE_TABLES];
	int provider; /* -1: the base */
	int said, alternative, is_new;
};

/* The last of the tables whose bits are set; there are some. */
static int last_of(unsigned tables)
{
	return 31 - __builtin_clz(tables);
}

static void look_up(struct tw_predictors *p, uint64_t pc, struct guess *g)
{
	unsigned match = 0;
	for (int i = 0; i < TW_TAGE_TABLES; i++) {
		g->entry[i] = &p->table[i][place_in(p, i, pc)];
		g->tag[i] = tag_in(p, i, pc);
		match |= (unsigned)(g->entry[i]->tag == g->tag[i]) << i;
	}
	g->said = g->alternative = p->base[pc % TW_COUNTERS] >= 2;
	g->provider = -1;
	g->is_new = 0;
	if (!match)
		return;
	g->provider = last_of(match);
	const struct tw_tage_entry *e = g->entry[g->provider];
	const unsigned others = match & ~(1u << g->provider);
	if (others)
		g->alternative = g->entry[last_of(others)]->counter >= 0;
	g->said = e->counter >= 0;
	g->is_new = !e->useful && (e->counter == 0 || e->counter == -1);
}

/* A longer history might have predicted it: allocates an entry for it, in place of a useless one. */
static void allocate(const struct guess *g, int taken)
{
	int i = g->provider + 1;
	while (i < TW_TAGE_TABLES && g->entry[i]->useful)
		i++;
	if (i < TW_TAGE_TABLES)
		*g->entry[i] = (struct tw_tage_entry){taken ? 0 : -1, 0, g->tag[i]};
	else
		for (i = g->provider + 1; i < TW_TAGE_TABLES; i++)
			g->entry[i]->useful--;
}

static void learn(struct tw_predictors *p, const struct guess *g, uint64_t pc, int taken)
{
	if (g->provider < 0) {
		count(&p->base[pc % TW_COUNTERS], taken);
		return;
	}
	struct tw_tage_entry *e = g->entry[g->provider];
	if (g->is_new && g->said != g->alternative) {
		if (g->alternative == taken)
			p->use_alternative += p->use_alternative < 15;
		else
			p->use_alternative -= p->use_alternative > 0;
	}
	if (g->said != g->alternative) {
		if (g->said == taken)
			e->useful += e->useful < 3;
		else
			e->useful -= e->useful > 0;
	}
	const int now = e->counter, more = now<3, less = now> - 4;
	e->counter = (int8_t)(now + (taken ? more : -less));
}

static int tage(struct tw_predictors *p, uint64_t pc, int taken)
{
	struct guess g;
	look_up(p, pc, &g);
	int said = g.is_new && p->use_alternative >= 8 ? g.alternative : g.said;
	if (said != taken)
		allocate(&g, taken);
	learn(p, &g, pc, taken);
	if (++p->branches % RESET == 0)
		for (int i = 0; i < TW_TAGE_TABLES; i++)
			for (int k = 0; k < TW_TAGE_ENTRIES; k++)
				p->table[i][k].useful >>= 1;
	return said;
}

unsigned tw_predictors_branch(struct tw_predictors *p, uint64_t pc, int taken)
{
	unsigned wrong = 0;
	wrong |= (unsigned)(count(&p->bimodal[pc % TW_COUNTERS], taken) != taken) << TW_BIMODAL;
	wrong |= (unsigned)(count(&p->gshare[(pc ^ p->recent) % TW_COUNTERS], taken) != taken) << TW_GSHARE;
	wrong |= (unsigned)(tage(p, pc, taken) != taken) << TW_TAGE;
	remember(p, taken);
	return wrong;
}
