#include "engine/code/path.h"
#include "engine/layout.h"

#define LOOP_PASSES  4u    /* a path that is taken this often in a row is a loop */
#define TAILS        24u   /* that the way is voted on by, at most... */
#define TAIL_RECORDS 4000u /* ...from so many records, all over them */

/* What followed when the start of a path was reached. */
struct tail {
	u8 n;
	bool back;                  /* the start came again then */
	u32 block[TW_TRACE_BLOCKS]; /* struct piece *: in the engine's heap. On the small stack of a signal handler. */
};

_Static_assert(ARENA_HEAP_END <= 1ull << 32, "addresses in the engine's heap have 32 bits");

static u64 pc_of(const struct tail *t, u32 k)
{
	return ((const struct piece *)(u64)t->block[k])->pc;
}

/* Calls of a tail that have not returned. */
struct returns {
	u64 pc[TW_TRACE_BLOCKS];
	u32 n;
};

/* May a path continue from `last` with the block at pc? */
static bool goes_on(struct returns *w, const struct piece *last, u64 pc)
{
	if (last->end == TW_END_CALL)
		w->pc[w->n++] = last->pc + last->bytes;
	if (last->end == TW_END_RETURN)
		return w->n && w->pc[--w->n] == pc;
	return tw_end_is_direct(last->end);
}

bool tw_path_leads_back(const struct fragment *f)
{
	return tw_end_is_direct(f->rec.end) && (f->pc_target == f->rec.pc || f->pc_fall == f->rec.pc);
}

/* The superblock whose first block was just read, NULL: none. In the tagged form records do not show superblocks. */
static const struct fragment *entered(const struct tw_blocks *b)
{
	const struct fragment *f = b->now.f;
	if (b->k != 1)
		return NULL;
	return f->is_superblock ? f : f->superseded ? __atomic_load_n(&f->superblock, __ATOMIC_RELAXED) : NULL;
}

static void read_tail(struct tail *tail, const struct tw_record *now, const struct tw_reader *r)
{
	struct tw_blocks blocks = tw_blocks_from(now, r);
	struct returns returns = {.n = 0};
	const struct piece *last = tw_blocks_next(&blocks), *b;
	u8 alone = 0; /* blocks before the first superblock other than that of `now` */
	*tail = (struct tail){.n = 1, .block = {(u32)(u64)last}};
	while ((b = tw_blocks_next(&blocks)) && goes_on(&returns, last, b->pc)) {
		const struct fragment *s = entered(&blocks);
		tail->back = b->pc == now->f->rec.pc;
		if (tail->back || tail->n == TW_TRACE_BLOCKS || (s && tw_path_leads_back(s)))
			break;
		if (s && !alone)
			alone = tail->n;
		tail->block[tail->n++] = (u32)(u64)b;
		last = b;
	}
	if (!tail->back && alone)
		tail->n = alone;
}

static void append(struct tw_path *path, u64 pc)
{
	path->pc[path->n++] = pc;
}

void tw_path_read(struct tw_path *path, const struct tw_record *now, const struct tw_reader *r)
{
	struct tail tail;
	read_tail(&tail, now, r);
	for (u32 k = 0; k < tail.n; k++)
		append(path, pc_of(&tail, k));
}

void tw_path_copy(struct tw_path *path, const struct fragment *f)
{
	for (u32 k = 0; k < f->rec.n_pieces; k++)
		append(path, f->rec.piece[k].pc);
}

bool tw_path_loops(const struct tw_path *path, const struct tw_record *now, const struct tw_reader *r)
{
	struct tw_blocks blocks = tw_blocks_from(now, r);
	for (u32 k = 0; k < LOOP_PASSES; k++)
		for (u32 i = 0; i < path->n; i++) {
			if (i == 0 && tw_record_is_loop(&blocks.now))
				return blocks.now.f->rec.pc == path->pc[0];
			const struct piece *b = tw_blocks_next(&blocks);
			if (!b || b->pc != path->pc[i])
				return false;
		}
	return true;
}

/* ---- voting ---- */

struct poll {
	struct tail tail[TAILS];
	u32 n;
	u32 in; /* those that agreed so far, one bit each */
};

/* Of those that agreed so far, the ones that continue like tail t with block k. */
static u32 voters_like(const struct poll *p, u32 t, u32 k)
{
	u32 like = 0;
	for (u32 u = 0; u < p->n; u++)
		if (p->in >> u & 1 && p->tail[u].n > k && pc_of(&p->tail[u], k) == pc_of(&p->tail[t], k))
			like |= 1u << u;
	return like;
}

static u32 count_bits(u32 v)
{
	u32 n = 0;
	for (; v; v &= v - 1)
		n++;
	return n;
}

/* Those that continue with the most frequent block k; 0: at least as many end here. */
static u32 most_voters(const struct poll *p, u32 k)
{
	u32 best = 0, ended = 0;
	for (u32 t = 0; t < p->n; t++) {
		if (!(p->in >> t & 1))
			continue;
		const u32 like = p->tail[t].n > k ? voters_like(p, t, k) : 0;
		ended += !like;
		if (count_bits(like) > count_bits(best))
			best = like;
	}
	return ended < count_bits(best) ? best : 0;
}

static void ask(struct poll *p, const struct tw_record *now, struct tw_reader r)
{
	struct tw_record next = *now;
	p->n = 0;
	for (u32 n = 0; n < TAIL_RECORDS && p->n < TAILS; n++) {
		if (n >= p->n * (TAIL_RECORDS / TAILS) && next.f == now->f && !tw_record_is_loop(&next))
			read_tail(&p->tail[p->n++], &next, &r);
		if (!tw_record_next(&r, &next))
			break;
	}
	p->in = (1u << p->n) - 1;
}

void tw_path_vote(struct tw_path *path, const struct tw_record *now, struct tw_reader r)
{
	struct poll p;
	u32 back = 0, voters;
	ask(&p, now, r);
	while (path->n < TW_TRACE_BLOCKS && (voters = most_voters(&p, path->n))) {
		p.in = voters;
		append(path, pc_of(&p.tail[__builtin_ctz(voters)], path->n));
	}
	for (u32 t = 0; t < p.n; t++)
		back += p.in >> t & 1 && p.tail[t].n == path->n && p.tail[t].back;
	path->loops = 2 * back > p.n;
}
