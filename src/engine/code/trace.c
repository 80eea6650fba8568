#include "engine/code/trace.h"
#include "engine/code/pace.h"
#include "engine/code/path.h"
#include "engine/code/superblock.h"
#include "engine/record/instrumentor.h"
#include "engine/counts.h"
#include "engine/heap.h"
#include "engine/x86_64/glue.h"

#define RECORDS_LOOKED_AT 2000u
#define LOOKS_IN_VAIN     4u   /* in a row: then only half as many buffers are examined... */
#define MOST_PASSED_OVER  15u  /* ...down to one in 16 */
#define MANY_PATHS        512u /* in all: then one buffer is skipped after a look that still found several; after twice as many two... */
#define MANY_PASSED_OVER  7u   /* ...up to seven */
#define FIRST_PASSED_OVER 63u  /* by who began warm */
#define WAYS_JUDGED       128u /* executions after which a superblock is judged, the first time; then four times as many each time */
#define MOST_REMADE       3u   /* how often another path is sought for it */
#define MOST_WAYS         10000u
#define MAX_HOT           (sizeof((struct tw_code_thread *)0)->hot / sizeof *((struct tw_code_thread *)0)->hot)

_Static_assert(TW_TRACE_BLOCKS == BLOCK_MAX_PARTS, "a path is as long as a superblock can be");
_Static_assert(MOST_WAYS > WAYS_JUDGED << 2 * (MOST_REMADE - 1), "as many are counted");

/* How often a fragment was reached with `context` known, in what was examined. */
struct tw_passes {
	struct tw_passes *next;
	u32 context;
	u32 n;
};

/* The registers known where r leaves. */
static u32 known_after(const struct tw_record *r)
{
	const struct side_exit *side = tw_record_side(r);
	if (!tw_end_is_direct(tw_record_end(r)))
		return tw_instr()->context;
	return side ? side->context : r->f->end_context;
}

/* Can a path start with f when it follows r? */
static bool is_head(const struct tw_record *r, const struct fragment *f)
{
	const struct piece *last = &r->f->rec.piece[r->f->rec.n_pieces - 1];
	return r->f->is_superblock || !tw_end_is_direct(tw_record_end(r)) || f->rec.pc < last->pc + last->bytes;
}

static struct tw_passes *passes_of(struct fragment *f, u32 context)
{
	struct tw_passes *p = f->passes;
	while (p && p->context != context)
		p = p->next;
	if (p)
		return p;
	p = tw_heap(sizeof *p);
	p->context = context;
	p->next = f->passes;
	f->passes = p;
	return p;
}

/*
 * The thread reached `now`, a plain fragment, after `before`: is there a path? If it is not worth a superblock the
 * `first` time, the second may be.
 */
static bool find_path(struct tw_path *path, const struct tw_record *before, const struct tw_record *now, const struct tw_reader *r,
                      bool first)
{
	*path = (struct tw_path){.context = tw_instr()->context};
	tw_path_read(path, now, r);
	path->loops = tw_path_loops(path, now, r);
	if (path->n > 1)
		return true;
	path->context = known_after(before);
	return path->context == tw_instr()->context ? path->loops : first;
}

/* ... a superblock that does not use all that is known: another version of it. */
static bool find_version(struct tw_path *path, u32 context, const struct tw_record *now, const struct tw_reader *r)
{
	*path = (struct tw_path){.context = context};
	tw_path_copy(path, now->f);
	path->loops = tw_path_loops(path, now, r);
	return true;
}

/* Has a path from there been noted already? */
static bool is_noted(const struct thread *t, u64 pc, u32 context)
{
	for (u32 k = 0; k < t->code->n_hot; k++)
		if (t->code->hot[k].pc[0] == pc && t->code->hot[k].context == context)
			return true;
	return false;
}

/* The thread reached `now` after `before`; r is positioned after it. */
static void count_pass(struct thread *t, const struct tw_record *before, const struct tw_record *now, const struct tw_reader *r)
{
	struct fragment *f = now->f;
	const u32 hot = tw_engine.control->hot, context = f->is_superblock ? known_after(before) : tw_instr()->context;
	if (t->code->n_hot == MAX_HOT || f->superseded || (f->is_superblock ? context == f->rec.context : !is_head(before, f)))
		return;
	const u32 n = ++passes_of(f, context)->n;
	struct tw_path *path = &t->code->hot[t->code->n_hot];
	if (f->is_superblock)
		t->code->n_hot += n == hot && find_version(path, context, now, r);
	else
		t->code->n_hot +=
		    (n == hot || n == 16 * hot) && !is_noted(t, f->rec.pc, context) && find_path(path, before, now, r, n == hot);
}

/* ---- superblocks that are left by a side exit more often than they continue ---- */

static u32 count_ways(const struct fragment *f)
{
	u32 n = 0;
	for (u32 k = 0; k <= f->rec.n_sides; k++)
		n += f->ways[k];
	return n;
}

/* Was f left by a side exit half as often again as it continued there? */
static bool goes_wrong(const struct fragment *f)
{
	u32 on = count_ways(f);
	for (u32 k = 1; k <= f->rec.n_sides; k++) {
		on -= f->ways[k];
		if (f->ways[k] >= WAYS_JUDGED / 8 && 2 * f->ways[k] > 3 * on)
			return true;
	}
	return false;
}

/* Could f, one iteration of a loop, hold several? */
static bool could_turn(const struct fragment *f)
{
	return tw_path_leads_back(f) && f->rec.map.c_reg == TW_NOREG && 2u * f->rec.n_pieces <= TW_TRACE_BLOCKS;
}

/*
 * Does f follow the path already, perhaps over several iterations? If it continues where the path ends, that is no
 * worse, unless the path loops.
 */
static bool is_followed(const struct tw_path *path, const struct fragment *f)
{
	if (path->loops && path->n == f->rec.n_pieces && could_turn(f))
		return false;
	for (u32 k = 0; k < f->rec.n_pieces && (path->loops || k < path->n); k++)
		if (path->pc[k % path->n] != f->rec.piece[k].pc)
			return false;
	return path->n <= f->rec.n_pieces;
}

/* Looks for a path that is better than that of now->f; r is positioned after `now`. */
static void find_better(struct thread *t, const struct tw_record *now, const struct tw_reader *r)
{
	struct fragment *f = now->f;
	struct tw_path *path = &t->code->hot[t->code->n_hot];
	*path = (struct tw_path){.context = f->rec.context, .old = f};
	f->remade++;
	tw_path_vote(path, now, *r);
	t->code->n_hot += !is_followed(path, f);
}

/* Counts by which exit a superblock was left, and judges it. r is positioned after the record. */
static void count_way(struct thread *t, const struct tw_record *now, const struct tw_reader *r)
{
	struct fragment *f = now->f;
	const bool turned = tw_record_is_loop(now);
	if (!f->is_superblock || f->superseded || f->remade >= MOST_REMADE || is_noted(t, f->rec.pc, f->rec.context))
		return;
	if (!f->ways)
		f->ways = tw_heap((f->rec.n_sides + 1u) * sizeof *f->ways);
	u16 *way = &f->ways[turned ? 0 : now->path];
	const u64 n = *way + (turned ? now->turns : 1);
	*way = (u16)(n < MOST_WAYS ? n : MOST_WAYS);
	const u32 all = count_ways(f);
	if (all < WAYS_JUDGED << 2 * f->remade || turned || t->code->n_hot > MAX_HOT / 4)
		return;
	if (goes_wrong(f) || (could_turn(f) && 2u * f->ways[0] > all))
		find_better(t, now, r);
	memset(f->ways, 0, (f->rec.n_sides + 1u) * sizeof *f->ways);
}

/*
 * Tagged form: records do not show superblocks. Follows one that is entered; in->f, if not NULL, is the one that has
 * been followed up to block in->k. True: `now` ran in it. If one has been left, *before becomes that.
 */
struct inside {
	struct fragment *f;
	u32 k;
};
static bool within_superblock(struct inside *in, struct tw_record *before, const struct tw_record *now)
{
	if (in->f && in->k < in->f->rec.n_pieces && now->f && in->f->rec.piece[in->k].pc == now->f->rec.pc) {
		in->k++;
		return true;
	}
	if (in->f)
		*before = (struct tw_record){.f = in->f};
	*in = (struct inside){now->f && now->f->superseded ? now->f->superblock : NULL, 1};
	return in->f;
}

/*
 * A process that starts with translations of others has the superblocks of their hot paths. What more it finds is
 * rarely worth making before it ends: python3 for 30 ms spent a third of its time on that. So the first examination
 * is late, and after finds the examinations become more and more frequent.
 */
static void begin_looks(struct tw_looks *l)
{
	if (!l->begun && tw_translator.began_warm) {
		l->pass_over = FIRST_PASSED_OVER;
		l->usual_plain = RECORDS_LOOKED_AT / 2;
		l->paths = MANY_PATHS * MANY_PASSED_OVER;
	}
	l->begun = true;
}

/* Is this full buffer to be examined? */
static bool is_turn(struct tw_looks *l)
{
	begin_looks(l);
	if (l->passed_over < l->pass_over) {
		l->passed_over++;
		return false;
	}
	l->passed_over = 0;
	return true;
}

/*
 * An examination found this many paths, and this many records of plain fragments. If paths were found, or clearly
 * more of these records than before, which means other code, fewer buffers are skipped. After repeated failures more
 * are skipped. If paths keep being found, more are skipped, too, since the program moves on to other code before
 * superblocks pay off.
 */
static void weigh(struct tw_looks *l, u32 found, u32 plain)
{
	const bool other_code = plain > 2 * l->usual_plain + RECORDS_LOOKED_AT / 64;
	l->usual_plain = (7 * l->usual_plain + plain) / 8;
	if (other_code || found) {
		l->pass_over = other_code ? 0 : l->pass_over / 2;
		l->in_vain = 0;
	} else if (++l->in_vain == LOOKS_IN_VAIN) {
		l->pass_over = l->pass_over < MOST_PASSED_OVER ? 2 * l->pass_over + 1 : MOST_PASSED_OVER;
		l->in_vain = 0;
	}
	l->paths += found;
	const u32 least = l->paths < MANY_PATHS * MANY_PASSED_OVER ? l->paths / MANY_PATHS : MANY_PASSED_OVER;
	if (!other_code && found > 1 && l->pass_over < least)
		l->pass_over = least;
}

void tw_trace_look(struct thread *t, const u8 *from, u64 to)
{
	if (tw_instr()->records)
		tw_pace_look(t, from, to);
	const u32 n_hot = t->code->n_hot;
	u32 plain = 0;
	struct tw_reader r = {from, (const u8 *)to, 0, 0};
	struct tw_record before = {0}, now;
	struct inside in = {NULL, 0};
	const bool tagged = tw_tags_used();
	if (!tw_instr()->superblocks || !tw_engine.control->hot || !is_turn(&t->code->looks))
		return;
	const u64 began = tw_tsc();
	for (u32 n = 0; n < RECORDS_LOOKED_AT && t->code->n_hot < MAX_HOT && tw_record_next(&r, &now); n++) {
		if (!(tagged && within_superblock(&in, &before, &now)) && before.f && now.f)
			count_pass(t, &before, &now, &r);
		plain += now.f && !now.f->is_superblock;
		if (!tagged && now.f && t->code->n_hot < MAX_HOT)
			count_way(t, &now, &r);
		before = now;
	}
	weigh(&t->code->looks, t->code->n_hot - n_hot, plain);
	tw_count_cycles(TW_COUNT_JOINING_CYCLES, began, tw_tsc());
}

bool tw_trace_found(const struct thread *t)
{
	return t->code->n_hot;
}

void tw_trace_join(struct thread *t)
{
	for (u32 k = 0; tw_instr()->superblocks && k < t->code->n_hot; k++) /* else the window has closed since */
		tw_superblock_join(&t->code->hot[k]);
	t->code->n_hot = 0;
}
