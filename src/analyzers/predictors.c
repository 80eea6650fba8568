#include "analyzers/predictors.h"

#include <string.h>

static const uint8_t lengths[TW_TAGE_TABLES] = {5, 15, 44, 130};
static const uint8_t tag_bits[TW_TAGE_TABLES] = {8, 8, 9, 9};
enum { INDEX_BITS = 10, RESET = 1 << 18 };

void tw_predictors_init(struct tw_predictors *p)
{
	memset(p, 0, sizeof *p);
	memset(p->bimodal, 1, sizeof p->bimodal);
	memset(p->gshare, 1, sizeof p->gshare);
	memset(p->base, 1, sizeof p->base);
	p->use_alternative = 8;
	for (int i = 0; i < TW_TAGE_TABLES; i++) {
		p->index[i] = (struct tw_fold){0, lengths[i], INDEX_BITS};
		p->tag[i] = (struct tw_fold){0, lengths[i], tag_bits[i]};
		p->tag2[i] = (struct tw_fold){0, lengths[i], (uint8_t)(tag_bits[i] - 1)};
	}
}

/* A counter of 2 bits: what it said, and it learns. */
static int count(uint8_t *counter, int taken)
{
	int said = *counter >= 2;
	if (taken)
		*counter += *counter < 3;
	else
		*counter -= *counter > 0;
	return said;
}

/* ---- TAGE ---- */

static uint32_t place_in(const struct tw_predictors *p, int table, uint64_t pc)
{
	return (uint32_t)(pc ^ pc >> INDEX_BITS ^ p->index[table].value) % TW_TAGE_ENTRIES;
}

static uint16_t tag_in(const struct tw_predictors *p, int table, uint64_t pc)
{
	return (uint16_t)((pc ^ p->tag[table].value ^ p->tag2[table].value << 1) & ((1u << tag_bits[table]) - 1));
}

static uint8_t outcome(const struct tw_predictors *p, uint32_t age)
{
	return p->history[(p->newest - age) % TW_HISTORY];
}

static void fold(struct tw_fold *f, uint32_t in, uint32_t out)
{
	f->value = f->value << 1 | in;
	f->value ^= out << f->length % f->bits;
	f->value ^= f->value >> f->bits;
	f->value &= (1u << f->bits) - 1;
}

static void remember(struct tw_predictors *p, int taken)
{
	for (int i = 0; i < TW_TAGE_TABLES; i++) {
		uint32_t out = outcome(p, lengths[i] - 1u);
		fold(&p->index[i], (uint32_t)taken, out);
		fold(&p->tag[i], (uint32_t)taken, out);
		fold(&p->tag2[i], (uint32_t)taken, out);
	}
	p->history[++p->newest % TW_HISTORY] = (uint8_t)taken;
	p->recent = (p->recent << 1 | (uint32_t)taken) % TW_COUNTERS;
}

/* What the tables say: the longest history that matches, and the one after it. */
struct guess {
	struct tw_tage_entry *entry[TW_TAGE_TABLES]; /* where the branch is, or would be */
	uint16_t tag[TW_TAGE_TABLES];
	int provider; /* -1: the base */
	int said, alternative, is_new;
};

static struct guess look_up(struct tw_predictors *p, uint64_t pc)
{
	struct guess g = {.provider = -1};
	g.said = g.alternative = p->base[pc % TW_COUNTERS] >= 2;
	for (int i = 0; i < TW_TAGE_TABLES; i++) {
		g.entry[i] = &p->table[i][place_in(p, i, pc)];
		g.tag[i] = tag_in(p, i, pc);
		if (g.entry[i]->tag != g.tag[i])
			continue;
		g.alternative = g.said;
		g.said = g.entry[i]->counter >= 0;
		g.provider = i;
	}
	if (g.provider >= 0) {
		const struct tw_tage_entry *e = g.entry[g.provider];
		g.is_new = !e->useful && (e->counter == 0 || e->counter == -1);
	}
	return g;
}

/* A longer history might have told: an entry for it, where one is of no use. */
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
	if (taken)
		e->counter += e->counter < 3;
	else
		e->counter -= e->counter > -4;
}

static int tage(struct tw_predictors *p, uint64_t pc, int taken)
{
	struct guess g = look_up(p, pc);
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
