#include "engine/x86_64/state.h"
#include "engine/heap.h"
#include "engine/x86_64/block.h"

/* ---- coding ---- */

/*
 * A map is the number of entries (a byte; 0xff: two more follow), the entries, the lengths. An entry is
 *     0xxxxxxx         x bytes behind the one before it, for the next instruction, and looks like that
 *     1xxxxxxx I L     x bytes behind it (0x7f: two bytes follow that say how many), for instruction I, with look L: its number, or 0xff and the look itself
 */
#define ANEW        0x80
#define FAR         0x7f
#define MANY        0xff
#define ANOTHER     0xff
#define LOOKS       255u
#define RECENT_BITS 12
#define MOST_BYTES  (3 + STATE_MOST * 13 + BLOCK_MAX_INSNS)

/* All of an entry but where it is. */
struct look {
	u32 where; /* flags, spill, spill2 */
	u32 path;
};

/* What all maps have in common, in the heap. */
struct common {
	u32 n_looks;
	struct look look[LOOKS];
	u32 recent[1u << RECENT_BITS]; /* addresses of maps, by what is in them */
};

static struct common *common;

void tw_state_init(void)
{
	common = tw_heap(sizeof *common);
}

void tw_state_forget(void)
{
	memset(common->recent, 0, sizeof common->recent);
}

static struct look look_of(const struct state_entry *s)
{
	return (struct look){s->flags | (u32)s->spill << 24 | (u32)s->spill2 << 28, s->path};
}

static bool is_alike(struct look a, struct look b)
{
	return a.where == b.where && a.path == b.path;
}

/* Its number, newly assigned if one is left; else ANOTHER. */
static u8 number_of(struct look l)
{
	u32 k = 0;
	while (k < common->n_looks && !is_alike(common->look[k], l))
		k++;
	if (k == common->n_looks && k < LOOKS) {
		common->look[k] = l;
		__atomic_store_n(&common->n_looks, k + 1, __ATOMIC_RELEASE);
	}
	return (u8)k;
}

static u8 *put(u8 *to, const void *from, u32 n)
{
	memcpy(to, from, n);
	return to + n;
}

static u8 *put_entry(u8 *to, const struct state_entry *s, const struct state_entry *before)
{
	const u16 distance = (u16)(s->offset - before->offset);
	const struct look l = look_of(s);
	if (s->insn == before->insn + 1 && distance < ANEW && is_alike(l, look_of(before))) {
		*to = (u8)distance;
		return to + 1;
	}
	*to++ = (u8)(ANEW | (distance < FAR ? distance : FAR));
	if (distance >= FAR)
		to = put(to, &distance, sizeof distance);
	*to++ = s->insn;
	*to++ = number_of(l);
	return to[-1] == ANOTHER ? put(to, &l, sizeof l) : to;
}

/* These bytes in the heap, where they may be already. */
static const u8 *keep(const u8 *bytes, u32 n)
{
	u64 hash = n;
	for (u32 k = 0; k < n; k++)
		hash = (hash ^ bytes[k]) * 0x9e3779b97f4a7c15ull;
	u32 *recent = &common->recent[hash >> (64 - RECENT_BITS)];
	if (*recent && !memcmp((const void *)(u64)*recent, bytes, n))
		return (const u8 *)(u64)*recent;
	u8 *kept = tw_heap(n);
	memcpy(kept, bytes, n);
	*recent = (u32)(u64)kept;
	return kept;
}

const u8 *tw_state_keep(const struct state_entry *state, u32 n_states, const u8 *lengths, u32 n_insns)
{
	static u8 bytes[MOST_BYTES];
	static const struct state_entry start = {.insn = 0xff};
	u8 *to = bytes;
	*to++ = n_states < MANY ? (u8)n_states : MANY;
	if (n_states >= MANY)
		to = put(to, &n_states, 2);
	for (u32 k = 0; k < n_states; k++)
		to = put_entry(to, &state[k], k ? &state[k - 1] : &start);
	to = put(to, lengths, n_insns);
	return keep(bytes, (u32)(to - bytes));
}

/* ---- decoding ---- */

struct reader {
	const u8 *p;
	u32 left;
	struct state_entry now;
};

static struct reader read(const struct state_map *m)
{
	u16 many = *m->kept;
	const u8 *p = m->kept + 1;
	if (many == MANY) {
		memcpy(&many, p, sizeof many);
		p += sizeof many;
	}
	return (struct reader){p, many, {.insn = 0xff}};
}

static void take_look(struct reader *r)
{
	struct look l;
	const u8 k = *r->p++;
	if (k == ANOTHER) {
		memcpy(&l, r->p, sizeof l);
		r->p += sizeof l;
	} else {
		l = common->look[k];
	}
	r->now.flags = l.where & 0xffffff;
	r->now.spill = l.where >> 24 & 15;
	r->now.spill2 = l.where >> 28;
	r->now.path = (u8)l.path;
}

static bool next(struct reader *r)
{
	u16 distance;
	if (!r->left)
		return false;
	r->left--;
	const u8 first = *r->p++;
	distance = first & FAR;
	r->now.insn++;
	if (first & ANEW) {
		if (distance == FAR) {
			memcpy(&distance, r->p, sizeof distance);
			r->p += sizeof distance;
		}
		r->now.insn = *r->p++;
		take_look(r);
	}
	r->now.offset += distance;
	return true;
}

struct state_entry tw_state_at(const struct state_map *m, u64 host)
{
	const u16 offset = (u16)(host - (u64)m->code);
	struct reader r = read(m);
	next(&r);
	struct state_entry found = r.now;
	while (next(&r) && r.now.offset <= offset)
		found = r.now;
	if (m->turned && found.offset >= m->turned)
		found.flags &= ~(u32)STATE_PC_FALL;
	return found;
}

const u8 *tw_state_lengths(const struct state_map *m)
{
	struct reader r = read(m);
	while (next(&r))
		;
	return r.p;
}

/* ---- registers ---- */

#define PLACE(member) ((u16)offsetof(struct thread, member))

/* Where the application's registers are in this state. */
static u8 find_registers(const struct state_map *m, const struct state_entry *s, bool recorded, struct register_places *p)
{
	u8 buf = s->flags & STATE_R11_LIVE ? m->t_reg : BUF_REG;
	for (u16 r = 0; r < TW_NREGS; r++)
		p->at[r] = PLACE(regs) + 8 * r;
	if (recorded && buf == BUF_REG)
		p->at[BUF_REG] = PLACE(app_r11);
	if (s->flags & STATE_T_SLOT)
		p->at[m->t_reg] = PLACE(slot_t);
	if (s->flags & STATE_SPILL)
		p->at[s->spill] = PLACE(slot_s);
	if (s->flags & STATE_SPILL2)
		p->at[s->spill2] = PLACE(slot_s2);
	if (s->flags & STATE_C_SLOT)
		p->at[m->c_reg] = PLACE(slot_c);
	if (s->flags & STATE_RCX_SLOT)
		p->at[TW_RCX] = PLACE(slot_rcx);
	if (s->flags & STATE_R10_SLOT)
		p->at[TW_R10] = PLACE(slot_r10);
	return buf;
}

u8 tw_state_places(const struct state_map *m, u64 host, bool recorded, struct register_places *p)
{
	const struct state_entry s = tw_state_at(m, host);
	return find_registers(m, &s, recorded, p);
}

u8 tw_state_registers(const struct thread *t, const struct state_map *m, u64 host, bool recorded, u64 *regs)
{
	const struct state_entry s = tw_state_at(m, host);
	struct register_places p;
	u8 buf = find_registers(m, &s, recorded, &p);
	for (u8 r = 0; r < TW_NREGS; r++)
		regs[r] = tw_register_in(t, &p, r);
	if (s.flags & STATE_PC_STACK)
		regs[TW_RSP] += 8;
	return buf;
}
