#include "cc/pointer.h"
#include "base/cc_section.h"
#include "cc/calls.h"
#include "base/cc_put.h"
#include "cc/twice.h"

const char *const tw_cc_names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                   "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
const char *const tw_cc_names32[] = {"eax", "ecx", "edx",  "ebx",  "esp",  "ebp",  "esi",  "edi",
                                     "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d"};

static const char *const words[TW_CC_N_WORDS] = {"trackway_cc_spill", "trackway_cc_counter", "trackway_cc_seen"};
static const char *const names8[] = {"al",  "cl",  "dl",   "bl",   "spl",  "bpl",  "sil",  "dil",
                                     "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"};

#define SLOT "trackway_cc_slot"
#define SEEN "trackway_cc_seen"
#define COLD "\t.pushsection .text.trackway_cold,\"ax?\",@progbits\n"

/* A register without a live value, other than b; TW_NOREG: none. */
static uint8_t spare(uint16_t live, uint8_t b)
{
	static const uint8_t order[] = {TW_R11, TW_R10, TW_R9,  TW_R8,  TW_RCX, TW_RSI, TW_RDI, TW_RDX,
	                                TW_RAX, TW_RBX, TW_RBP, TW_R12, TW_R13, TW_R14, TW_R15};
	for (size_t k = 0; k < sizeof order; k++)
		if (order[k] != b && !(live >> order[k] & 1))
			return order[k];
	return TW_NOREG;
}

void tw_cc_move(struct tw_cc_writer *w, uint8_t from, uint8_t to)
{
	if (from == to)
		return;
	fprintf(w->out, "\tmovq %%%s,%%%s\n", tw_cc_names[from], tw_cc_names[to]);
	w->inserted++;
}

/* ---- the slot ---- */

void tw_cc_load_slot(struct tw_cc_writer *w, uint8_t reg)
{
	const char *b = tw_cc_names[reg];
	if (w->pic)
		fprintf(w->out, "\tmovq " SLOT "@gottpoff(%%rip),%%%s\n\tmovq %%fs:(%%%s),%%%s\n", b, b, b);
	else
		fprintf(w->out, "\tmovq %%fs:" SLOT "@tpoff,%%%s\n", b);
	w->inserted += 1 + (w->pic != 0);
}

/* If no register is free, one is saved in the buffer, ahead of the records, and its bytes there are cleared again. */
void tw_cc_store_slot(struct tw_cc_writer *w, uint8_t reg, uint16_t live)
{
	const uint8_t a = spare(live, reg);
	const char *b = tw_cc_names[reg], *t = tw_cc_names[reg == TW_RAX ? TW_RCX : TW_RAX];
	if (!w->pic) {
		fprintf(w->out, "\tmovq %%%s,%%fs:" SLOT "@tpoff\n", b);
	} else if (a != TW_NOREG) {
		fprintf(w->out, "\tmovq " SLOT "@gottpoff(%%rip),%%%s\n\tmovq %%%s,%%fs:(%%%s)\n", tw_cc_names[a], b, tw_cc_names[a]);
	} else if (w->guard) {
		fprintf(w->out, "\tleaq -128(%%rsp),%%rsp\n\tpushq %%%s\n\tmovq " SLOT "@gottpoff(%%rip),%%%s\n", t, t);
		fprintf(w->out, "\tmovq %%%s,%%fs:(%%%s)\n\tpopq %%%s\n\tleaq 128(%%rsp),%%rsp\n", b, t, t);
		w->inserted += 4;
	} else {
		fprintf(w->out, "\tmovq %%%s,64(%%%s)\n\tmovq " SLOT "@gottpoff(%%rip),%%%s\n\tmovq %%%s,%%fs:(%%%s)\n", t, b, t, b, t);
		fprintf(w->out, "\tmovq 64(%%%s),%%%s\n\tmovq $0,64(%%%s)\n", b, t, b);
		w->inserted += 3;
	}
	w->inserted += 1 + (w->pic != 0);
}

static const char *put_kind(const struct tw_cc_writer *w)
{
	return w->pic ? "pic_" : "";
}

void tw_cc_put(struct tw_cc_writer *w, uint32_t bytes, int returns)
{
	fprintf(w->out, "\t%s trackway_cc_put_%s%u\n", returns ? "jmp" : "call", put_kind(w), bytes);
	w->puts |= 1u << bytes / 2;
	w->inserted++;
}

/*
 * Compares r11 with the slot. `slot`, of so many bytes, receives the operand that names it. Returns 0 if this needs a
 * register and none is free.
 */
static int compare_slot(struct tw_cc_writer *w, uint16_t live, char *slot, size_t bytes)
{
	const uint8_t a = spare(live, TW_CC_BOUNDARY);
	snprintf(slot, bytes, "%%fs:" SLOT "@tpoff");
	if (w->pic && a == TW_NOREG)
		return 0;
	if (w->pic) {
		fprintf(w->out, "\tmovq " SLOT "@gottpoff(%%rip),%%%s\n", tw_cc_names[a]);
		snprintf(slot, bytes, "%%fs:(%%%s)", tw_cc_names[a]);
	}
	fprintf(w->out, "\tcmpq %%%s,%s\n", tw_cc_names[TW_CC_BOUNDARY], slot);
	w->inserted += 1 + (w->pic != 0);
	return 1;
}

void tw_cc_verify(struct tw_cc_writer *w, uint16_t live, const char *kind, uint32_t label)
{
	const char *b = tw_cc_names[TW_CC_BOUNDARY];
	char slot[64];
	if (!compare_slot(w, live, slot, sizeof slot)) {
		tw_cc_load_slot(w, TW_CC_BOUNDARY);
		return;
	}
	fprintf(w->out, "\tjne .LtwV%s%u\n.LtwW%s%u:\n", kind, label, kind, label);
	fprintf(w->out, COLD ".LtwV%s%u:\n\tmovq %s,%%%s\n\tjmp .LtwW%s%u\n\t.popsection\n", kind, label, slot, b, kind, label);
	w->inserted++;
}

/* ---- registers that are borrowed ---- */

/*
 * A library's code needs a second register to save the borrowed one. That second is meanwhile on the stack, past the
 * red zone. (No code of the program stands between.)
 */
void tw_cc_put_aside(struct tw_cc_writer *w, uint8_t reg, enum tw_cc_word word)
{
	const char *b = tw_cc_names[reg], *t = tw_cc_names[reg == TW_RAX ? TW_RCX : TW_RAX], *to = words[word];
	w->words |= 1u << word;
	if (w->pic) {
		fprintf(w->out, "\tleaq -128(%%rsp),%%rsp\n\tpushq %%%s\n\tmovq %s@gottpoff(%%rip),%%%s\n", t, to, t);
		fprintf(w->out, "\tmovq %%%s,%%fs:(%%%s)\n\tpopq %%%s\n\tleaq 128(%%rsp),%%rsp\n", b, t, t);
	} else {
		fprintf(w->out, "\tmovq %%%s,%%fs:%s@tpoff\n", b, to);
	}
	w->inserted += w->pic ? 6 : 1;
}

void tw_cc_take_back(struct tw_cc_writer *w, uint8_t reg, enum tw_cc_word word)
{
	const char *b = tw_cc_names[reg], *from = words[word];
	w->words |= 1u << word;
	if (w->pic)
		fprintf(w->out, "\tmovq %s@gottpoff(%%rip),%%%s\n\tmovq %%fs:(%%%s),%%%s\n", from, b, b, b);
	else
		fprintf(w->out, "\tmovq %%fs:%s@tpoff,%%%s\n", from, b);
	w->inserted += 1 + (w->pic != 0);
}

/* ---- checks ---- */

#define PUSH_UPPER "\tpushq " TW_CC_LABEL_WORD "(%%rip)\n\tpopq (%%%s)\n\tleaq 4(%%%s),%%%s\n"

void tw_cc_write_upper(struct tw_cc_writer *w, uint8_t reg)
{
	const char *b = tw_cc_names[reg];
	if (!w->large)
		return;
	fprintf(w->out, PUSH_UPPER, b, b, b);
	w->inserted += 3;
}

/* Without the branch. The second form is two bytes longer, but fuses with the branch into one operation. */
static void test(struct tw_cc_writer *w, uint8_t reg, int is_short)
{
	if (is_short)
		fprintf(w->out, "\tbtl $20,%%%s\n", tw_cc_names32[reg]);
	else
		fprintf(w->out, "\ttestl $0x100000,%%%s\n", tw_cc_names32[reg]);
	w->inserted += 2;
}

/* The call stands at the test: this is short, but takes a branch each time. The short form calls a routine that contains the test. */
static void check_in_line(struct tw_cc_writer *w, uint8_t reg, unsigned how, const char *kind, uint32_t label)
{
	if (reg == TW_CC_BOUNDARY && how & TW_CC_IS_SHORT) {
		fputs("\tcall trackway_cc_test\n", w->out);
		w->inserted++;
		return;
	}
	test(w, reg, 1);
	fprintf(w->out, "\tjnc .LtwR%s%u\n\tcall trackway_cc_bare_%s\n.LtwR%s%u:\n", kind, label, tw_cc_names[reg], kind, label);
	w->inserted++;
}

static void check_out_of_line(struct tw_cc_writer *w, uint8_t reg, unsigned how, const char *kind, uint32_t label)
{
	const int keeps_flags = how & TW_CC_KEEPS_FLAGS, is_bare = how & TW_CC_IS_BARE;
	const char *aside = is_bare ? "\tpushfq\n" : "\tleaq -128(%rsp),%rsp\n\tpushfq\n";
	const char *back = is_bare ? "\tpopfq\n" : "\tpopfq\n\tleaq 128(%rsp),%rsp\n";
	const char *b = tw_cc_names[reg];
	FILE *o = w->out;
	fputs(keeps_flags ? aside : "", o);
	test(w, reg, 0);
	fprintf(o, "\tjne .LtwC%s%u\n%s.LtwR%s%u:\n", kind, label, keeps_flags ? back : "", kind, label);
	fprintf(o, COLD ".LtwC%s%u:\n%s", kind, label, keeps_flags ? back : "");
	if (how & TW_CC_IS_BORROWED)
		fprintf(o, "\tleaq %u(%%%s),%%%s\n", (unsigned)TW_CC_BORROWED, b, b);
	fputs(is_bare ? "" : "\tleaq -128(%rsp),%rsp\n", o);
	fprintf(o, "\tcall trackway_cc_%s%s\n", is_bare ? "bare_" : "", b);
	if (w->large)
		fprintf(o, PUSH_UPPER, b, b, b);
	fprintf(o, "%s\tjmp .LtwR%s%u\n\t.popsection\n", is_bare ? "" : "\tleaq 128(%rsp),%rsp\n", kind, label);
	w->inserted += !keeps_flags ? 0 : is_bare ? 2 : 4;
}

void tw_cc_check(struct tw_cc_writer *w, uint8_t reg, unsigned how, const char *kind, uint32_t label)
{
	if ((how & ~TW_CC_IS_SHORT) == TW_CC_IS_BARE && !w->large)
		check_in_line(w, reg, how, kind, label);
	else
		check_out_of_line(w, reg, how, kind, label);
}

void tw_cc_verify_and_check(struct tw_cc_writer *w)
{
	fprintf(w->out, "\tcall trackway_cc_enter%s\n", w->pic ? "_pic" : "");
	w->enters = 1;
	w->inserted++;
}

/* ---- the switch ---- */

/* In a place of its own, with rax on the stack. */
static void write_entered(const struct tw_cc_writer *w, uint32_t label, uint32_t insn)
{
	FILE *o = w->out;
	fprintf(o, COLD ".LtwN%u:\n\tleaq -128(%%rsp),%%rsp\n\tpushq %%rax\n", label);
	if (w->pic)
		fprintf(o, "\tpushq %%rcx\n\tmovq " SEEN "@gottpoff(%%rip),%%rcx\n\tmovzbl " TW_CC_SWITCH
		           "(%%rip),%%eax\n\tmovb %%al,%%fs:(%%rcx)\n\tpopq %%rcx\n");
	else
		fprintf(o, "\tmovzbl " TW_CC_SWITCH "(%%rip),%%eax\n\tmovb %%al,%%fs:" SEEN "@tpoff\n");
	fprintf(o, "\tleaq " TW_CC_LABEL_INSN "(%%rip),%%rax\n\tcall trackway_cc_entered\n", insn);
	fprintf(o, "\tpopq %%rax\n\tleaq 128(%%rsp),%%rsp\n\tjmp .LtwM%u\n\t.popsection\n", label);
}

void tw_cc_look_at_switch(struct tw_cc_writer *w, uint16_t live, uint32_t label, uint32_t insn)
{
	const uint8_t a = spare(live, TW_CC_BOUNDARY);
	FILE *o = w->out;
	if (a == TW_NOREG)
		return;
	w->words |= 1u << TW_CC_SEEN;
	if (w->pic)
		fprintf(o, "\tmovq " SEEN "@gottpoff(%%rip),%%%s\n\tmovzbl %%fs:(%%%s),%%%s\n", tw_cc_names[a], tw_cc_names[a],
		        tw_cc_names32[a]);
	else
		fprintf(o, "\tmovzbl %%fs:" SEEN "@tpoff,%%%s\n", tw_cc_names32[a]);
	fprintf(o, "\tcmpb %%%s," TW_CC_SWITCH "(%%rip)\n\tjne .LtwN%u\n.LtwM%u:\n", names8[a], label, label);
	write_entered(w, label, insn);
	w->inserted += 3 + (w->pic != 0);
}

/* ---- processes ---- */

void tw_cc_follow_copy(struct tw_cc_writer *w, const struct tw_cc_copy *c, const char *end)
{
	static const uint16_t in_use = (uint16_t) ~(1u << TW_RCX);
	FILE *o = w->out;
	w->copies = 1;
	w->inserted += 8;
	fprintf(o, "\tleal -57(%%rax),%%ecx\n\tjrcxz .LtwF%u\n\tleal 1(%%rcx),%%ecx\n\tjrcxz .LtwF%u\n", c->label, c->label);
	fprintf(o, "\tleal -379(%%rcx),%%ecx\n\tjrcxz .LtwF%u\n\tjmp " TW_CC_LABEL_INSN "\n", c->label, c->insn);
	fprintf(o, ".LtwF%u:\tjmp .LtwFA%u\n" COLD ".LtwFA%u:\n", c->label, c->label, c->label);
	if (c->reg != TW_NOREG) {
		fprintf(o, "\tleaq %u(%%%s),%%r11\n", c->offset, tw_cc_names[c->reg]);
		tw_cc_store_slot(w, TW_R11, in_use);
	}
	fprintf(o, "\tleaq .LtwFB%u(%%rip),%%rcx\n\tleaq " TW_CC_LABEL_INSN "(%%rip),%%r11\n", c->label, c->insn);
	fprintf(o, "\tjmp trackway_cc_copying\n.LtwFB%u:\n", c->label);
	tw_cc_load_slot(w, TW_R11);
	if (w->large) {
		fputs("\tleaq -128(%rsp),%rsp\n", o);
		tw_cc_write_upper(w, TW_R11);
		fputs("\tleaq 128(%rsp),%rsp\n", o);
		tw_cc_store_slot(w, TW_R11, in_use);
	}
	if (c->reg != TW_NOREG)
		fprintf(o, "\tleaq -%u(%%r11),%%%s\n", c->offset, tw_cc_names[c->reg]);
	fprintf(o, "\tjmp %s\n\t.popsection\n", end);
}

/* ---- symbols ---- */

/* One for all objects of the module that use it, with a function that returns its place: linkers cannot put that into data. */
static void print_word(FILE *o, const char *name, unsigned flags)
{
	fprintf(o, "\n\t.section .tbss.%s,\"awTG\",@nobits,%s,comdat\n\t.p2align 3\n", name, name);
	fprintf(o, "\t.weak %s\n\t.hidden %s\n\t.type %s,@object\n\t.size %s,8\n%s:\n\t.zero 8\n", name, name, name, name, name);
	fprintf(o, "\t.section .text.%s,\"axG\",@progbits,%s,comdat\n", name, name);
	fprintf(o, "\t.weak %s_at\n\t.hidden %s_at\n\t.type %s_at,@function\n%s_at:\n", name, name, name, name);
	fprintf(o, "\tmovq %s@gottpoff(%%rip),%%rax\n\tret\n\t.size %s_at,.-%s_at\n", name, name, name);
	fprintf(o,
	        "\t.section " TW_CC_SECTION_WORDS
	        ",\"aGR\",@progbits,%s,comdat\n" TW_CC_SECTION_ENDS(TW_CC_SECTION_WORDS) "\t.long %s_at-.,%u\n",
	        name, name, flags);
}

void tw_cc_print_symbols(const struct tw_cc_writer *w)
{
	FILE *out = w->out;
	fprintf(out, "\n\t.section trackway_cc_upper,\"aw\",@progbits\n\t.p2align 3\n" TW_CC_LABEL_WORD ":\n\t.quad 0\n");
	fprintf(out, "\n\t.hidden " SLOT "\n\t.type " SLOT ",@tls_object\n");
	for (unsigned k = 0; k < TW_CC_N_WORDS; k++)
		if (w->words >> k & 1)
			print_word(out, words[k], k == TW_CC_SEEN ? TW_CC_WORD_FORGOTTEN : 0);
	for (uint32_t n = 1; n <= TW_CC_MOST_PUT / 2; n++)
		if (w->puts >> n & 1)
			fprintf(out, "\t.hidden trackway_cc_put_%s%u\n", put_kind(w), 2 * n);
	if (w->enters)
		fprintf(out, "\t.hidden trackway_cc_enter%s\n", w->pic ? "_pic" : "");
	fprintf(out, "\t.hidden trackway_cc_test\n");
	if (w->words >> TW_CC_SEEN & 1)
		fprintf(out, "\t.hidden trackway_cc_entered\n");
	if (w->copies)
		fprintf(out, "\t.hidden trackway_cc_copying\n");
	if (w->guard)
		fprintf(out, "\t.hidden trackway_cc_guard\n\t.section " TW_CC_SECTION_GUARD
		             ",\"aR\",@progbits\n\t.p2align 2\n" TW_CC_SECTION_ENDS(TW_CC_SECTION_GUARD) "\t.long trackway_cc_guard-.\n");
	for (unsigned k = 0; k < TW_NREGS; k++)
		if (k != TW_RSP)
			fprintf(out, "\t.hidden trackway_cc_%s,trackway_cc_bare_%s\n", tw_cc_names[k], tw_cc_names[k]);
}
