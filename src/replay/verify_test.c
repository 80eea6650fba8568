/* Verification: what matches, and every kind of mismatch. */
#include "chunk.h"
#include "replay/verify.h"
#include "unit.h"

static const struct tw_op ops[] = {
    {.kind = TW_OP_REF, .insn = 0, .base = TW_RAX, .index = TW_NOREG, .size = 8, .type = TW_READ},
    {.kind = TW_OP_REF, .insn = 1, .base = TW_RCX, .index = TW_NOREG, .size = 4, .type = TW_WRITE},
    {.kind = TW_OP_REP, .insn = 2, .base = TW_RDI, .index = TW_NOREG, .size = 4, .type = TW_WRITE, .value = 0, .mask_value = 1},
};
static const struct made_fragment with_refs = {16, 0x400000, {2, 1}, ops, 3, 2, TW_FORMAT_DEP};
static const struct made_fragment without = {17, 0x500000, {2}, NULL, 0, 0, TW_FORMAT_DEP};

/* What a whole execution of the first fragment with two iterations makes. */
static const struct tw_logged_ref whole[] = {
    {0x1000, 8, TW_READ, 0, 1},
    {0x2000, 4, TW_WRITE, 1, 1},
    {0x8000, 4, TW_WRITE, 2, 1},
    {0x8004, 4, TW_WRITE, 2, 1},
};

static struct tw_descriptor *descriptors[2];

static const struct tw_descriptor *lookup(void *context, uint32_t number)
{
	(void)context;
	return number == 16 ? descriptors[0] : number == 17 ? descriptors[1] : NULL;
}

static char report[2048];

/* Verifies the chunk and frees it; the report is left in `report`. */
static int verify(struct made_chunk *k)
{
	const struct tw_xstate xstate = {0};
	struct tw_verify *v = tw_verify_new(&xstate, lookup, NULL);
	k->chunk.refs = 1000;
	int result = tw_verify_chunk(v, &k->chunk);
	EQUAL(tw_verify_chunk(v, &k->chunk) != 0, result != 0);
	FILE *f = fmemopen(report, sizeof report, "w");
	tw_verify_report(v, f);
	fclose(f);
	tw_verify_free(v);
	free(k);
	return result;
}

static void put_fragment(struct made_chunk *k)
{
	put_tag(k, 16);
	put_value(k, 0x8000);
	put_value(k, 0x8008);
}

static struct made_chunk *start(void)
{
	struct made_chunk *k = make_chunk();
	put_keyframe(k, 0);
	return k;
}

static void test_match(void)
{
	struct made_chunk *k = start();
	for (int i = 0; i < 3; i++) {
		put_fragment(k);
		put_refs(k, 0x400000, whole, 4);
		put_keyframe(k, 0);
		put_tag(k, 17);
		put_refs(k, 0x500000, NULL, 0);
		put_keyframe(k, 0);
	}
	EQUAL(verify(k), 0);
	CHECK(strstr(report, "18 blocks and 24 references compared")); /* two chunks */
}

/* More iterations than a batch holds, logged as a run. */
static void test_long(void)
{
	struct made_chunk *k = make_chunk();
	put_keyframe(k, 0);
	put_tag(k, 16);
	put_value(k, 0x8000);
	put_value(k, 0x8000 + 4 * 9000);
	struct tw_logged_ref log[4] = {whole[0], whole[1]};
	log[2] = (struct tw_logged_ref){0x8000, 4, TW_WRITE, 2, TW_LOGGED_RUN};
	log[3] = (struct tw_logged_ref){9000, 4, 0, 2, TW_LOGGED_RUN};
	put_refs(k, 0x400000, log, 4);
	k->chunk.refs = 9002;
	const struct tw_xstate xstate = {0};
	struct tw_verify *v = tw_verify_new(&xstate, lookup, NULL);
	EQUAL(tw_verify_chunk(v, &k->chunk), 0);
	tw_verify_free(v);
	free(k);
}

/* One execution whose log is `log`: a mismatch whose report has both texts. */
static void differs(const struct tw_logged_ref *log, uint32_t n, const char *text, const char *text2)
{
	struct made_chunk *k = start();
	put_tag(k, 17);
	put_refs(k, 0x500000, NULL, 0);
	put_fragment(k);
	put_refs(k, 0x400000, log, n);
	CHECK(verify(k));
	CHECK(strstr(report, text));
	CHECK(strstr(report, text2));
}

static void test_references(void)
{
	struct tw_logged_ref log[5];
	memcpy(log, whole, sizeof whole);
	log[1].addr++;
	differs(log, 4, "thread 0 at reference 1\n", "expected: write of 4 bytes at 2001");
	CHECK(strstr(report, "found:    write of 4 bytes at 2000"));
	CHECK(strstr(report, "400004: nop"));
	log[1] = whole[1];
	log[1].size = 8;
	differs(log, 4, "reference 1\n", "write of 8 bytes");
	log[1] = whole[1];
	log[1].type = TW_MODIFY;
	differs(log, 4, "reference 1\n", "modify of 4 bytes");
	log[1] = whole[1];
	log[1].insn = 0;
	differs(log, 4, "reference 1\n", "by instruction 0");
	differs(whole, 3, "reference 3\n", "expected: no reference");
	memcpy(log, whole, sizeof whole);
	log[4] = whole[3];
	differs(log, 5, "reference 4\n", "found:    no reference");
}

static void test_code(void)
{
	struct made_chunk *k = start();
	put_tag(k, 17);
	put_refs(k, 0x400000, whole, 4);
	CHECK(verify(k));
	CHECK(strstr(report, "the code at 400000 to run"));
	CHECK(strstr(report, "500000"));
	k = start();
	put_tag(k, 17);
	put_tag(k, 17);
	put_refs(k, 0x500000, NULL, 0);
	CHECK(verify(k));
	CHECK(strstr(report, "none was logged"));
	k = start();
	put_refs(k, 0x500000, NULL, 0);
	CHECK(verify(k));
	CHECK(strstr(report, "no fragment"));
	k = start();
	put_tag(k, 18);
	CHECK(verify(k));
	CHECK(strstr(report, "does not replay"));
}

/* Executions that stopped early, with logs that hold more of the interrupted instruction. */
static void test_partial(void)
{
	struct tw_partial partial = {.insns = 1, .regs = {[TW_RAX] = 0x1000}};
	struct made_chunk *k = start();
	put_event(k, TW_EVENT_PARTIAL, &partial, sizeof partial);
	put_fragment(k);
	put_refs(k, 0x400000, whole, 2);
	partial.insns = 0;
	put_event(k, TW_EVENT_PARTIAL, &partial, sizeof partial);
	put_fragment(k);
	put_refs(k, 0x400000, whole, 1);
	partial.insns = 2;
	partial.in_rep = 1;
	partial.regs[TW_RCX] = 0x2000;
	partial.regs[TW_RDI] = 0x8004;
	put_keyframe(k, 0);
	put_event(k, TW_EVENT_PARTIAL, &partial, sizeof partial);
	put_fragment(k);
	put_refs(k, 0x400000, whole, 2);
	put_tag(k, 17);
	put_refs(k, 0x500000, NULL, 0);
	EQUAL(verify(k), 0);
	k = start();
	put_event(k, TW_EVENT_PARTIAL, &partial, sizeof partial);
	put_fragment(k);
	put_refs(k, 0x400000, whole, 1);
	CHECK(verify(k));
	CHECK(strstr(report, "reference 1\n"));
}

int main(void)
{
	descriptors[0] = make_descriptor(&with_refs);
	descriptors[1] = make_descriptor(&without);
	test_match();
	test_long();
	test_references();
	test_code();
	test_partial();
	return UNIT_END();
}
