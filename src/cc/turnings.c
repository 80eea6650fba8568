#include "cc/turnings.h"
#include "base/cc_section.h"

/* A conditional jump as it is: nothing stands before its opcode. */
static int is_branch(const struct tw_cc_insn *i)
{
	const uint8_t *raw = i->d.raw;
	return (i->d.len == 2 && (raw[0] & 0xf0) == 0x70) || (i->d.len == 6 && raw[0] == 0x0f && (raw[1] & 0xf0) == 0x80);
}

static int is_of_unit(const struct tw_cc_twice *w, const struct tw_cc_insn *i)
{
	return w->unit_of[i->first] >= 0 && tw_cc_is_whole(w, &w->unit[w->unit_of[i->first]]);
}

void tw_cc_turnings_find(struct tw_cc_twice *w)
{
	const struct tw_cc_flow *f = w->f;
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		const struct tw_cc_block_info *b = &f->block[n];
		const struct tw_cc_insn *first = &f->code->insn[b->first], *last = tw_cc_last(f, b);
		if (!is_of_unit(w, first))
			continue;
		if (b->end == TW_END_COND && is_branch(last) && !last->glued)
			w->turning[last->first] = TW_CC_TURNING_BRANCH;
		const uint32_t lead = tw_cc_lead(f, b);
		if (tw_cc_has_room(b) && lead < b->n && !first[lead].glued && !w->turning[first[lead].first])
			w->turning[first[lead].first] = TW_CC_TURNING_ROOM;
	}
}

void tw_cc_turnings_first(const struct tw_cc_twice *w, uint32_t statement, const char *label)
{
	fprintf(w->out, "%s%u:\n", label, statement);
}

void tw_cc_turnings_second(const struct tw_cc_twice *w, uint32_t statement)
{
	fprintf(w->out, TW_CC_LABEL_SECOND "%u:\n", statement);
}

void tw_cc_turnings_room(const struct tw_cc_twice *w)
{
	static const uint8_t room[] = {TW_CC_ROOM_BYTES};
	fprintf(w->out, "\t.byte %u,%u,%u,%u,%u\n", room[0], room[1], room[2], room[3], room[4]);
}

/* ---- what is written of them ---- */

static uint32_t count(const struct tw_cc_twice *w, const struct tw_cc_unit *u, enum tw_cc_turning what)
{
	uint32_t n = 0;
	for (uint32_t s = u->from; s < u->to; s++)
		n += w->turning[s] == what;
	return n;
}

static uint32_t count_tests(const struct tw_cc_twice *w, const struct tw_cc_unit *u)
{
	uint32_t n = 0;
	for (uint32_t s = u->from; s < u->to; s++)
		n += w->mark[s] != 0;
	return n;
}

static void write_places(const struct tw_cc_twice *w, const struct tw_cc_unit *u, enum tw_cc_turning what)
{
	for (uint32_t s = u->from; s < u->to; s++)
		if (w->turning[s] == what)
			fprintf(w->out, "\t.long " TW_CC_LABEL_TURNING "%u-.," TW_CC_LABEL_SECOND "%u-.\n", s, s);
}

void tw_cc_turnings_write(const struct tw_cc_twice *w, const struct tw_cc_unit *u)
{
	const uint32_t n = u->function;
	FILE *o = w->out;
	fprintf(o, "\t.pushsection " TW_CC_SECTION_TURNINGS ",\"aR?\",@progbits\n" TW_CC_SECTION_ENDS(TW_CC_SECTION_TURNINGS));
	fprintf(o, ".LtwSR%u:\n\t.long %u,.LtwSX%u-.LtwSR%u," TW_CC_SECOND "%u-.\n", n, TW_CC_TURNINGS_MAGIC, n, n, n);
	if (u->cold)
		fprintf(o, "\t.long " TW_CC_SECOND "%u%.*s-.\n", n, (int)u->cold_length, u->cold);
	else
		fprintf(o, "\t.long 0\n");
	fprintf(o, "\t.long %u,%u,%u\n", count_tests(w, u), count(w, u, TW_CC_TURNING_BRANCH), count(w, u, TW_CC_TURNING_ROOM));
	for (uint32_t s = u->from; s < u->to; s++)
		if (w->mark[s])
			fprintf(o, "\t.long " TW_CC_LABEL_TEST "%u-.\n", s);
	write_places(w, u, TW_CC_TURNING_BRANCH);
	write_places(w, u, TW_CC_TURNING_ROOM);
	fprintf(o, ".LtwSX%u:\n\t.popsection\n", n);
}
