#include "recording/value_reader.h"
#include "recording/recording.h"

static int damaged(void)
{
	return tw_fail(TW_ERR_DAMAGED, "%s", "");
}

/* ---- sections ---- */

int tw_section_split(const uint8_t *section, size_t n, struct tw_section_part *part, unsigned n_parts)
{
	if (n < n_parts * sizeof(uint64_t))
		return damaged();
	const uint8_t *at = section + n_parts * sizeof(uint64_t);
	for (unsigned i = 0; i < n_parts; i++) {
		uint64_t bytes;
		memcpy(&bytes, section + i * sizeof bytes, sizeof bytes);
		if (bytes > (size_t)(section + n - at))
			return damaged();
		part[i] = (struct tw_section_part){at, at + bytes};
		at += bytes;
	}
	return at == section + n ? TW_OK : damaged();
}

int64_t tw_section_run(struct tw_section_part *runs)
{
	int64_t run = 0;
	while (runs->at < runs->end) {
		unsigned more = *runs->at++;
		run += more;
		if (more < TW_RUN_MORE)
			return run;
	}
	return -1;
}

/* ---- values that were not as predicted ---- */

/* The value that a literal of this kind says; negative in r->run if there is none. */
static inline uint64_t take_literal(struct tw_value_reader *r, const struct tw_value_slot *s, unsigned kind)
{
	uint64_t literal;
	if ((size_t)(r->literals.end - r->literals.at) < sizeof literal) {
		r->run = -1;
		return 0;
	}
	memcpy(&literal, r->literals.at, sizeof literal);
	r->literals.at += tw_literal_bytes(kind);
	return tw_literal_base(&r->p, s, kind) + tw_literal_cut(literal, tw_literal_bytes(kind));
}

/* This many values are predicted: `run` becomes as many of them as there are literals for, whatever these take. */
static void set_run(struct tw_value_reader *r, int64_t run)
{
	size_t left = (size_t)(r->literals.end - r->literals.at);
	int64_t most = (int64_t)(left / sizeof(uint64_t));
	r->run = left < TW_LITERAL_PADDING ? -1 : run < most ? run : most;
	r->more = r->run < 0 ? 0 : (uint64_t)(run - r->run);
}

uint64_t tw_value_reader_miss(struct tw_value_reader *r, uint32_t slot)
{
	struct tw_value_predictor *p = &r->p;
	struct tw_value_slot *s = p->slot + slot;
	uint64_t value;
	if (r->more) {
		set_run(r, (int64_t)r->more);
		return r->run-- < 0 ? 0 : tw_value_reader_hit(r, slot);
	}
	unsigned code = r->run >= 0 && r->codes.at < r->codes.end ? *r->codes.at++ : TW_NCODES;
	int64_t run = code < TW_NCODES ? tw_section_run(&r->runs) : -1;
	r->run = run < 0 ? -1 : 0;
	if (r->run < 0)
		return 0;
	if (code < TW_NWAYS) {
		s->way = (uint8_t)code;
		value = tw_predict(p, s);
	} else if (code < TW_LITERAL + TW_CODE_LASTING) {
		value = take_literal(r, s, code);
	} else {
		s->way = (uint8_t)(code - TW_CODE_LASTING);
		value = take_literal(r, s, s->way);
	}
	tw_follow(p, s->last, value);
	tw_learn(p, s, value);
	if (r->run >= 0)
		set_run(r, run);
	return value;
}

uint64_t tw_value_reader_hit(struct tw_value_reader *r, uint32_t slot)
{
	struct tw_value_predictor *p = &r->p;
	struct tw_value_slot *s = p->slot + slot;
	uint64_t value;
	if (s->way < TW_NWAYS) {
		value = tw_predict(p, s);
	} else {
		value = take_literal(r, s, s->way);
		tw_follow(p, s->last, value);
	}
	tw_learn(p, s, value);
	return value;
}

/* ---- values ---- */

static void take_values(struct tw_value_reader *r, uint32_t slot, uint32_t n, uint64_t *m)
{
	for (uint32_t i = 0; i < n && r->run >= 0; i++) {
		int hit = r->run > 0;
		r->run -= hit;
		m[i] = hit ? tw_value_reader_hit(r, slot + i) : tw_value_reader_miss(r, slot + i);
	}
}

static struct tw_value_place place_of(const struct tw_value_reader *r, uint32_t number)
{
	struct tw_value_place place = tw_value_map_row(r->p.map, number >> 16)[number & 0xffff];
	return place.first < r->n_slots && place.n <= r->n_slots - place.first ? place : (struct tw_value_place){0};
}

void tw_value_reader_start(struct tw_value_reader *r, uint32_t number)
{
	struct tw_value_place place = place_of(r, number);
	tw_start_slots(&r->p, number, r->p.slot + place.first, place.n);
}

int tw_value_reader_take(struct tw_value_reader *r, uint32_t number, uint32_t n, uint64_t *m)
{
	struct tw_value_place place = place_of(r, number);
	if (n > place.n)
		return damaged();
	if (n && !r->p.slot[place.first].epoch)
		tw_start_slots(&r->p, number, r->p.slot + place.first, place.n);
	take_values(r, place.first, n, m);
	return r->run < 0 ? damaged() : TW_OK;
}

int tw_value_reader_take_odd(struct tw_value_reader *r, uint64_t *m)
{
	if (!r->p.slot->epoch)
		*r->p.slot = (struct tw_value_slot){.epoch = r->p.epoch, .reg = TW_SLOT_NO_REGISTER};
	take_values(r, 0, 1, m);
	return r->run < 0 ? damaged() : TW_OK;
}

/* ---- chunks ---- */

void tw_value_reader_init(struct tw_value_reader *r, const struct tw_value_map *map, struct tw_value_slot *slots, uint32_t n)
{
	r->n_slots = n;
	r->p.map = map;
	r->p.slot = slots;
}

int tw_value_reader_begin(struct tw_value_reader *r, const uint8_t *section, size_t n)
{
	struct tw_section_part part[3];
	int error = tw_section_split(section, n, part, 3);
	if (error)
		return error;
	r->runs = part[0];
	r->codes = part[1];
	r->literals = part[2];
	int64_t run = tw_section_run(&r->runs);
	set_run(r, run);
	tw_start_values(&r->p, r->p.map, 0);
	memset(r->p.slot, 0, r->n_slots * sizeof *r->p.slot);
	r->p.epoch = 1;
	return run < 0 || r->run < 0 ? damaged() : TW_OK;
}

void tw_value_reader_keyframe(struct tw_value_reader *r, const uint64_t *regs)
{
	memcpy(r->p.reg, regs, TW_NREGS * sizeof *regs);
}

static int is_read(const struct tw_section_part *part)
{
	return part->at == part->end;
}

int tw_value_reader_end(const struct tw_value_reader *r)
{
	int literals = r->literals.end - r->literals.at == TW_LITERAL_PADDING;
	return r->run || r->more || !is_read(&r->runs) || !is_read(&r->codes) || !literals ? damaged() : TW_OK;
}
