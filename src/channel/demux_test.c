#include "base/store.h"
#include "channel/demux.h"
#include "recording/recording.h"
#include "unit.h"
#include "unit_fragment.h"

enum { PLAIN = 16, VALUES = 17, MANY = 18, REP = 19, LANES = 20, FAR_UPPER = 3 };

static const struct tw_op read_op = {.kind = TW_OP_REF, .base = TW_RSP, .index = TW_NOREG, .type = TW_READ, .size = 8};
static const struct tw_op modify_op = {.kind = TW_OP_REF, .insn = 1, .base = TW_RSP, .index = TW_NOREG, .type = TW_MODIFY, .size = 4};
static const struct tw_op rep_ops[] = {
    {.kind = TW_OP_REP,
     .insn = 1,
     .base = TW_RSI,
     .index = TW_RDI,
     .type = TW_READ,
     .flags = TW_OPF_SECOND,
     .size = 4,
     .count = TW_WRITE,
     .value = 0,
     .mask_value = 1},
    {.kind = TW_OP_REF, .insn = 2, .base = TW_RSP, .index = TW_NOREG, .type = TW_WRITE, .size = 8},
};
static const struct tw_op lanes_ops[] = {
    {.kind = TW_OP_LANES, .base = TW_RAX, .index = TW_NOREG, .type = TW_READ, .size = 4, .count = 8, .mask_width = 4, .mask_value = 0},
    {.kind = TW_OP_LANES, .base = TW_RAX, .index = TW_NOREG, .type = TW_WRITE, .size = 4, .count = 8, .mask_value = 4},
    {.kind = TW_OP_LANES, .base = TW_RAX, .index = TW_NOREG, .type = TW_READ, .flags = TW_OPF_ANY, .size = 4, .count = 8, .mask_value = 4},
};

static struct tw_demux *demux;
static struct tw_descriptor *made[16];
static int n_made;
static uint8_t *data, *slack;
static struct tw_chunk chunk;

static void add(struct tw_demux *d, struct tw_descriptor *one)
{
	uint64_t used;
	EQUAL(tw_demux_descriptors(d, (uint8_t *)one, one->bytes, &used), TW_OK);
	EQUAL(used, one->bytes);
	made[n_made++] = one;
}

static void set_up(void)
{
	struct tw_op two[] = {read_op, modify_op};
	demux = tw_demux_new(0);
	add(demux, unit_descriptor(PLAIN, 3, 0, two, 2));
	add(demux, unit_descriptor(VALUES, 2, 2, two, 2));
	add(demux, unit_descriptor(MANY, 1, 7, two, 1));
	add(demux, unit_descriptor(REP, 4, 2, rep_ops, 2));
	add(demux, unit_descriptor(LANES, 1, 5, lanes_ops, 3));
	add(demux, unit_descriptor(FAR_UPPER << 16 | PLAIN, 5, 1, two, 1));
	data = calloc(1, TW_DEMUX_DATA);
	slack = calloc(1, TW_SLACK_BYTES);
	chunk.c = malloc(TW_DEMUX_C * 2);
	chunk.m = malloc(TW_DEMUX_M * 8);
	chunk.e = malloc(TW_DEMUX_E);
}

static void tear_down(void)
{
	tw_demux_free(demux);
	tw_chunk_release(&chunk);
	for (int i = 0; i < n_made; i++)
		free(made[i]);
	free(data);
	free(slack);
}

static struct unit_buffer start(void)
{
	struct unit_buffer b = {data};
	memset(data, 0, TW_DEMUX_DATA);
	memset(slack, 0, TW_SLACK_BYTES);
	unit_keyframe(&b, 0);
	return b;
}

static int run(const struct unit_buffer *b, uint32_t slack_end)
{
	struct tw_demux_input in = {data, slack, (uint32_t)(b->p - data), slack_end, NULL};
	chunk.flags = 0;
	return tw_demux_buffer(demux, &in, &chunk);
}

static void plain_runs(void)
{
	struct unit_buffer b = start();
	for (int i = 0; i < 1000; i++) {
		unit_tag(&b, PLAIN);
		unit_tag(&b, VALUES);
		unit_value(&b, (uint64_t)i);
		unit_value(&b, ~(uint64_t)i);
		unit_tag(&b, MANY);
		for (int k = 0; k < 7; k++)
			unit_value(&b, (uint64_t)(i + k));
	}
	EQUAL(run(&b, 0), TW_OK);
	EQUAL(chunk.n_c, 3001);
	EQUAL(chunk.n_m, 9000);
	EQUAL(chunk.m[9 * 500 + 1], ~500ll);
	EQUAL(chunk.m[9 * 999 + 8], 1005);
	EQUAL(chunk.insns, 6000);
	EQUAL(chunk.blocks, 3000);
	EQUAL(chunk.refs, 5000);
	EQUAL(chunk.reads, 5000);
	EQUAL(chunk.writes, 2000);
	EQUAL(chunk.n_e, sizeof(struct tw_event_header) + sizeof(struct tw_keyframe));
}

/* Enough fragments to have machine code, in any order, among others; the expected result is computed here. */
static void hot_runs(void)
{
	enum { ROUNDS = 20, N = 4000, MANY_VALUES = 7 };
	static const struct {
		uint32_t number;
		unsigned n_values, insns, refs, reads, writes;
	} kind[] = {{PLAIN, 0, 3, 2, 2, 1},
	            {VALUES, 2, 2, 2, 2, 1},
	            {MANY, MANY_VALUES, 1, 1, 1, 0},
	            {FAR_UPPER << 16 | PLAIN, 1, 5, 1, 1, 0},
	            {REP, 2, 4, 5, 2, 3}};
	static uint16_t c[3 * N];
	static uint64_t m[N * MANY_VALUES];
	uint64_t random = 1;
	for (int round = 0; round < ROUNDS; round++) {
		struct unit_buffer b = start();
		struct tw_totals sum = {0};
		uint32_t upper = 0;
		size_t n_c = 0, n_m = 0;
		c[n_c++] = TW_TAG_EVENT;
		for (int i = 0; i < N; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			unsigned k = (unsigned)(random >> 33) % 5;
			if (kind[k].number >> 16 != upper) {
				upper = kind[k].number >> 16;
				unit_tag(&b, c[n_c++] = TW_TAG_UPPER);
				unit_tag(&b, c[n_c++] = (uint16_t)upper);
			}
			unit_tag(&b, c[n_c++] = (uint16_t)kind[k].number);
			for (unsigned v = 0; v < kind[k].n_values; v++)
				unit_value(&b, m[n_m++] = kind[k].number == REP ? 0x1000 + 8 * v : random >> v);
			sum.insns += kind[k].insns;
			sum.refs += kind[k].refs;
			sum.reads += kind[k].reads;
			sum.writes += kind[k].writes;
		}
		EQUAL(run(&b, 0), TW_OK);
		EQUAL(chunk.n_c, n_c);
		EQUAL(chunk.n_m, n_m);
		CHECK(!memcmp(chunk.c, c, n_c * sizeof *c));
		CHECK(!memcmp(chunk.m, m, n_m * sizeof *m));
		EQUAL(chunk.insns, sum.insns);
		EQUAL(chunk.blocks, N);
		EQUAL(chunk.refs, sum.refs);
		EQUAL(chunk.reads, sum.reads);
		EQUAL(chunk.writes, sum.writes);
	}
}

static void upper_halves(void)
{
	struct unit_buffer b = start();
	unit_tag(&b, TW_TAG_UPPER);
	unit_tag(&b, FAR_UPPER);
	unit_tag(&b, PLAIN);
	unit_value(&b, 7);
	unit_tag(&b, TW_TAG_UPPER);
	unit_tag(&b, 0);
	unit_tag(&b, PLAIN);
	EQUAL(run(&b, 0), TW_OK);
	EQUAL(chunk.insns, 8);
	EQUAL(chunk.n_c, 7);
	EQUAL(chunk.n_m, 1);
	EQUAL(chunk.upper, 0);
	b.p = data;
	unit_keyframe(&b, FAR_UPPER);
	EQUAL(run(&b, 0), TW_OK);
	EQUAL(chunk.upper, FAR_UPPER);
}

static void the_slack(void)
{
	struct unit_buffer b = start(), s = {slack + TW_SLACK_BYTES - 18 - 2};
	unit_tag(&b, PLAIN);
	unit_tag(&b, TW_TAG_SLACK);
	unit_tag(&b, TW_SLACK_BYTES - 18 - 2);
	unit_tag(&s, VALUES);
	unit_value(&s, 1);
	unit_value(&s, 2);
	unit_tag(&s, PLAIN);
	EQUAL(run(&b, TW_SLACK_BYTES), TW_OK);
	EQUAL(chunk.n_c, 4);
	EQUAL(chunk.n_m, 2);
	EQUAL(chunk.insns, 8);
	EQUAL(run(&b, TW_SLACK_BYTES - 2), TW_OK);
	EQUAL(chunk.n_c, 3);
}

static void put_rep(struct unit_buffer *b, uint64_t before, uint64_t after)
{
	unit_tag(b, REP);
	unit_value(b, before);
	unit_value(b, after);
}

static void repeats(void)
{
	struct unit_buffer b = start();
	put_rep(&b, 0x1000, 0x1000 + 5 * 4);
	put_rep(&b, 0x1000, 0x1000 - 3 * 4);
	put_rep(&b, 0x1000, 0x1000);
	EQUAL(run(&b, 0), TW_OK);
	EQUAL(chunk.reads, 8);
	EQUAL(chunk.writes, 8 + 3);
	EQUAL(chunk.refs, 19);
	EQUAL(chunk.insns, 12);
}

static void put_partial(struct unit_buffer *b, uint32_t insns, uint32_t in_rep, uint64_t rdi)
{
	struct tw_partial p = {.insns = insns, .in_rep = in_rep};
	p.regs[TW_RDI] = rdi;
	unit_event(b, TW_EVENT_PARTIAL, &p, sizeof p);
}

static void partial_fragments(void)
{
	struct unit_buffer b = start();
	put_partial(&b, 1, 0, 0);
	unit_tag(&b, PLAIN);
	EQUAL(run(&b, 0), TW_OK);
	EQUAL(chunk.insns, 1);
	EQUAL(chunk.blocks, 1);
	EQUAL(chunk.refs, 1);
	put_partial(&b, 1, 1, 0x2000 + 2 * 4);
	put_rep(&b, 0x2000, 0);
	EQUAL(run(&b, 0), TW_OK);
	EQUAL(chunk.insns, 2);
	EQUAL(chunk.refs, 1 + 4);
	put_partial(&b, 0, 0, 0);
	unit_tag(&b, PLAIN);
	unit_tag(&b, PLAIN);
	EQUAL(run(&b, 0), TW_OK);
	EQUAL(chunk.insns, 5);
	EQUAL(chunk.blocks, 3);
}

static void lanes(void)
{
	struct unit_buffer b = start();
	unit_tag(&b, LANES);
	unit_value(&b, 0x8000000080000000);
	unit_value(&b, 0x7fffffff80000000);
	unit_value(&b, 0);
	unit_value(&b, 0);
	unit_value(&b, 0xf07);
	EQUAL(run(&b, 0), TW_OK);
	EQUAL(chunk.reads, 3 + 1);
	EQUAL(chunk.writes, 3);
	EQUAL(chunk.refs, 7);
}

static void put_refs(struct unit_buffer *b, uint32_t n)
{
	uint8_t payload[sizeof(struct tw_refs) + 4 * sizeof(struct tw_logged_ref)];
	struct tw_refs head = {.n = n};
	struct tw_logged_ref ref = {.size = 8, .type = TW_MODIFY, .count = 1};
	memcpy(payload, &head, sizeof head);
	for (uint32_t i = 0; i < n; i++)
		memcpy(payload + sizeof head + i * sizeof ref, &ref, sizeof ref);
	unit_event(b, TW_EVENT_REFS, payload, (uint32_t)(sizeof head + n * sizeof ref));
}

static void logged_references(void)
{
	struct unit_buffer b = start();
	struct tw_demux *dep = demux;
	struct tw_op two[] = {read_op, modify_op};
	unit_tag(&b, PLAIN);
	put_refs(&b, 3);
	unit_event(&b, TW_EVENT_SIGRETURN, "", 0);
	demux = tw_demux_new(1);
	add(demux, unit_descriptor(PLAIN, 3, 0, two, 2));
	EQUAL(run(&b, 0), TW_OK);
	EQUAL(chunk.insns, 3);
	EQUAL(chunk.refs, 3);
	EQUAL(chunk.reads, 3);
	EQUAL(chunk.writes, 3);
	size_t n_e = chunk.n_e;
	tw_demux_strip_refs(&chunk);
	EQUAL(chunk.n_c, 3);
	EQUAL(chunk.c[1], PLAIN);
	EQUAL(n_e - chunk.n_e, sizeof(struct tw_event_header) + sizeof(struct tw_refs) + 3 * sizeof(struct tw_logged_ref));
	size_t at = 0;
	EQUAL(tw_demux_next_event(&chunk, &at)->type, TW_EVENT_KEYFRAME);
	EQUAL(tw_demux_next_event(&chunk, &at)->type, TW_EVENT_SIGRETURN);
	CHECK(!tw_demux_next_event(&chunk, &at));
	tw_demux_free(demux);
	demux = dep;
}

static void odd_events(void)
{
	struct unit_buffer b = start();
	unit_event(&b, TW_EVENT_EXEC, "abc", 4);
	unit_tag(&b, PLAIN);
	unit_event(&b, TW_EVENT_THREAD_END, &(struct tw_thread_end){.status = 3}, sizeof(struct tw_thread_end));
	EQUAL(run(&b, 0), TW_OK);
	EQUAL(chunk.n_e % 8, 0);
	EQUAL(chunk.insns, 3);
	EQUAL(chunk.flags, TW_CHUNK_LAST);
}

static void wrong_buffers(void)
{
	struct unit_buffer b = start();
	unit_tag(&b, PLAIN);
	unit_tag(&b, 99);
	EQUAL(run(&b, 0), TW_ERR_FRAGMENT);
	EQUAL(chunk.insns, 3);
	b = start();
	unit_event(&b, TW_NEVENTS, "", 0);
	EQUAL(run(&b, 0), TW_ERR_STREAM);
	b = start();
	unit_tag(&b, VALUES);
	unit_value(&b, 1);
	EQUAL(run(&b, 0), TW_ERR_STREAM);
	b = start();
	unit_event(&b, TW_EVENT_SYSCALL, "12345678", 8);
	EQUAL(run(&b, 0), TW_ERR_STREAM);
}

/* Where the buffer is cut, as bytes of data. */
static uint32_t torn_at(int logged)
{
	struct tw_demux_input in = {.data = data, .slack = slack};
	tw_demux_torn_end(demux, &in, logged);
	return in.slack_end ? TW_DEMUX_DATA + in.slack_end : in.bytes;
}

static void torn_fragments(void)
{
	struct unit_buffer b = start();
	unit_tag(&b, PLAIN);
	uint32_t plain = (uint32_t)(b.p - data);
	EQUAL(torn_at(0), plain);
	unit_tag(&b, VALUES);
	EQUAL(torn_at(0), plain);
	unit_value(&b, 1);
	EQUAL(torn_at(0), plain);
	unit_value(&b, 1);
	EQUAL(torn_at(0), b.p - data);
	EQUAL(torn_at(1), plain);
	uint32_t whole = (uint32_t)(b.p - data);
	put_partial(&b, 1, 0, 0);
	EQUAL(torn_at(0), whole);
	unit_tag(&b, VALUES);
	EQUAL(torn_at(0), whole);
	unit_value(&b, 0);
	unit_value(&b, 0);
	unit_tag(&b, PLAIN);
	EQUAL(torn_at(0), b.p - data);
}

static void torn_events(void)
{
	struct unit_buffer b = start();
	EQUAL(torn_at(0), b.p - data);
	unit_tag(&b, PLAIN);
	uint32_t before = (uint32_t)(b.p - data);
	unit_event(&b, TW_EVENT_SIGRETURN, "", 0);
	EQUAL(torn_at(0), b.p - data);
	EQUAL(torn_at(1), b.p - data);
	b.p = data + before;
	unit_tag(&b, TW_TAG_NONE); /* the tag of an event is written last */
	EQUAL(torn_at(0), before);
	EQUAL(torn_at(1), before - 2);
	memset(data, 0, TW_DEMUX_DATA);
	EQUAL(torn_at(0), 0);
}

static void torn_in_slack(void)
{
	struct unit_buffer b = start(), s = {slack + 100};
	unit_tag(&b, TW_TAG_SLACK);
	unit_tag(&b, 100);
	unit_tag(&s, PLAIN);
	EQUAL(torn_at(0), TW_DEMUX_DATA + 102);
	unit_tag(&s, MANY);
	EQUAL(torn_at(0), TW_DEMUX_DATA + 102);
}

/* The jump's tag fills the data; its offset stands behind. */
static void slack_at_the_very_end(void)
{
	struct unit_buffer b = start(), s = {slack + 200};
	while (b.p < data + TW_BUFFER_BYTES - 2)
		unit_tag(&b, PLAIN);
	uint64_t insns = (uint64_t)(b.p - data - 8 - (long)sizeof(struct tw_keyframe)) / 2 * 3;
	unit_tag(&b, TW_TAG_SLACK);
	unit_tag(&b, 200);
	unit_tag(&s, PLAIN);
	EQUAL(run(&b, 202), TW_OK);
	EQUAL(chunk.insns, insns + 3);
	EQUAL(torn_at(0), TW_DEMUX_DATA + 202);
}

static void wrong_descriptors(void)
{
	uint64_t used;
	struct tw_descriptor *d = unit_descriptor(40, 2, 0, &read_op, 1);
	struct tw_op *op = (struct tw_op *)tw_descriptor_ops(d);
	EQUAL(tw_demux_descriptors(demux, (uint8_t *)d, d->bytes - 8, &used), TW_ERR_DAMAGED);
	op->insn = 2;
	EQUAL(tw_demux_descriptors(demux, (uint8_t *)d, d->bytes, &used), TW_ERR_DAMAGED);
	op->insn = 0;
	op->base = 16;
	EQUAL(tw_demux_descriptors(demux, (uint8_t *)d, d->bytes, &used), TW_ERR_DAMAGED);
	EQUAL(used, 0);
	CHECK(!tw_demux_descriptor(demux, 40));
	CHECK(!tw_demux_descriptor(demux, 0xffff0010));
	CHECK(tw_demux_descriptor(demux, PLAIN) == made[0]);
	free(d);
}

/* One record of any kind. */
static void put_any(struct unit_buffer *b, uint64_t random, uint16_t *upper)
{
	if (random % 100 < 5) {
		*upper ^= FAR_UPPER;
		unit_tag(b, TW_TAG_UPPER);
		unit_tag(b, *upper);
	} else if (*upper) {
		unit_tag(b, PLAIN);
		unit_value(b, random);
	} else if (random % 1000 < 60) {
		put_rep(b, random, random + 4 * (random % 7));
	} else if (random % 1000 < 65) {
		unit_event(b, TW_EVENT_SIGRETURN, "", 0);
	} else {
		int values = random & 256 ? 2 : 0;
		unit_tag(b, values ? VALUES : PLAIN);
		for (int i = 0; i < values; i++)
			unit_value(b, random);
	}
}

static void fill_any(struct tw_demux_input *in, uint64_t random)
{
	uint8_t *bytes = calloc(1, TW_DEMUX_DATA);
	struct unit_buffer b = {bytes};
	uint16_t upper = 0;
	unit_keyframe(&b, upper);
	while (b.p < bytes + TW_BUFFER_BYTES - 200 - random % 5 * 50000) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		put_any(&b, random >> 33, &upper);
	}
	*in = (struct tw_demux_input){bytes, slack, (uint32_t)(b.p - bytes), 0, NULL};
}

static void add_up(struct tw_totals *t, const struct tw_chunk *c)
{
	t->insns += c->insns;
	t->blocks += c->blocks;
	t->refs += c->refs;
	t->reads += c->reads;
	t->writes += c->writes;
	t->raw[TW_STREAM_C] += 2 * c->n_c;
	t->raw[TW_STREAM_M] += 8 * c->n_m;
}

/* Counting gives what the chunk of a buffer holds, whatever is in it, and sums of several buffers add up. */
static void counting(void)
{
	struct tw_totals stored = {0}, counted = {0};
	for (unsigned n = 1; n <= 4; n++) {
		struct tw_demux_input in;
		struct tw_totals tally;
		fill_any(&in, n);
		EQUAL(tw_demux_buffer(demux, &in, &chunk), TW_OK);
		add_up(&stored, &chunk);
		EQUAL(tw_demux_count(demux, &in, &chunk), TW_OK);
		add_up(&counted, &chunk);
		tw_demux_tally(demux, &tally);
		counted.insns += tally.insns;
		counted.blocks += tally.blocks;
		counted.refs += tally.refs;
		counted.reads += tally.reads;
		counted.writes += tally.writes;
		counted.raw[TW_STREAM_C] += tally.raw[TW_STREAM_C];
		counted.raw[TW_STREAM_M] += tally.raw[TW_STREAM_M];
		EQUAL(memcmp(&stored, &counted, sizeof stored), 0);
		free((void *)in.data);
	}
}

/* What no buffer had is idle, of numbers that are claimed. */
static void idle(void)
{
	enum { UPPER = TW_FIRST_CLAIMED + 1, FIRST = UPPER << 16 | 20 };
	const struct tw_op two[] = {read_op, modify_op};
	struct tw_demux *d = tw_demux_new(0);
	const int before = n_made;
	size_t n;
	CHECK(!tw_demux_idle(d, &n) && !n);
	add(d, unit_descriptor(PLAIN, 3, 0, two, 2));
	add(d, unit_descriptor(FIRST, 3, 0, two, 2));
	add(d, unit_descriptor(FIRST + 1, 4, 2, rep_ops, 2));
	add(d, unit_descriptor(FIRST + 2, 3, 0, two, 2));
	add(d, unit_descriptor((UPPER - 1) << 16 | 16, 3, 0, two, 2));
	uint32_t *numbers = tw_demux_idle(d, &n);
	EQUAL(n, 4);
	EQUAL(numbers[0], (UPPER - 1) << 16 | 16);
	EQUAL(numbers[3], FIRST + 2);
	free(numbers);
	struct unit_buffer b = start();
	unit_tag(&b, TW_TAG_UPPER);
	unit_tag(&b, UPPER);
	unit_tag(&b, FIRST & 0xffff);
	unit_tag(&b, (FIRST + 1) & 0xffff);
	unit_value(&b, 0);
	unit_value(&b, 0);
	struct tw_demux_input in = {data, slack, (uint32_t)(b.p - data), 0, NULL};
	EQUAL(tw_demux_buffer(d, &in, &chunk), TW_OK);
	numbers = tw_demux_idle(d, &n);
	EQUAL(n, 2);
	EQUAL(numbers[1], FIRST + 2);
	free(numbers);
	tw_demux_free(d);
	while (n_made > before)
		free(made[--n_made]);
}

/*
 * Stopping at a count: includes the fragment that reaches it, with its REFS; events continue, and the stream says
 * once that nothing else does.
 */
static void stopping(void)
{
	static const struct tw_refs refs = {0};
	static const struct tw_thread_end end = {0};
	static const struct tw_syscall call = {0};
	struct unit_buffer b = start();
	for (int i = 0; i < 3; i++) {
		unit_tag(&b, PLAIN);
		unit_event(&b, TW_EVENT_REFS, &refs, sizeof refs);
	}
	unit_event(&b, TW_EVENT_SYSCALL, &call, sizeof call);
	unit_event(&b, TW_EVENT_THREAD_END, &end, sizeof end);
	struct tw_demux_stop stop = {.insns = 4}; /* within the second */
	struct tw_demux_input in = {data, slack, (uint32_t)(b.p - data), 0, &stop};
	EQUAL(tw_demux_buffer(demux, &in, &chunk), TW_OK);
	EQUAL(chunk.insns, 6);
	EQUAL(chunk.n_c, 7); /* KEYFRAME, two fragments and their REFS, WINDOW, THREAD_END */
	EQUAL(stop.told, 1);
	size_t at = 0;
	static const uint16_t expected[] = {TW_EVENT_KEYFRAME, TW_EVENT_REFS, TW_EVENT_REFS, TW_EVENT_WINDOW, TW_EVENT_THREAD_END};
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		EQUAL(tw_demux_next_event(&chunk, &at)->type, expected[i]);
	EQUAL(at, chunk.n_e);
	/* the thread's next buffer */
	EQUAL(tw_demux_buffer(demux, &in, &chunk), TW_OK);
	EQUAL(chunk.insns, 0);
	EQUAL(chunk.n_c, 2);
	/* not yet */
	stop = (struct tw_demux_stop){.insns = 100};
	EQUAL(tw_demux_buffer(demux, &in, &chunk), TW_OK);
	EQUAL(chunk.insns, 9);
	EQUAL(stop.told, 0);
}

int main(void)
{
	set_up();
	idle();
	stopping();
	plain_runs();
	hot_runs();
	upper_halves();
	the_slack();
	repeats();
	partial_fragments();
	lanes();
	counting();
	logged_references();
	odd_events();
	wrong_buffers();
	torn_fragments();
	torn_events();
	torn_in_slack();
	slack_at_the_very_end();
	wrong_descriptors();
	tear_down();
	return UNIT_END();
}
