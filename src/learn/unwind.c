#include "learn/unwind.h"
#include "learn/module.h"
#include "recording/recording.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Registers by their numbers in DWARF. */
enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12, R15 = 15, RETURN_ADDRESS = 16, REGISTERS = 17 };

/* A file of code, opened when it is first asked for. */
struct file {
	int tried, fd;
	Elf *elf;
	Dwarf_CFI *cfi;
	struct tw_module_file module;
};

struct tw_unwinder {
	const struct tw_places *places;
	struct file *files; /* by their numbers among the places' */
	struct tw_stack first;
	uint8_t *bytes; /* of the stack, from first.sp on */
	size_t n, room;
	int has;
};

/* Of one frame. */
struct frame {
	uint64_t pc, reg[REGISTERS];
	uint32_t known; /* registers, a bit for each */
};

struct tw_unwinder *tw_unwinder_new(const struct tw_places *places)
{
	struct tw_unwinder *u = calloc(1, sizeof *u);
	if (!u)
		return NULL;
	u->places = places;
	u->files = calloc(places->files.n + 1, sizeof *u->files);
	if (u->files)
		return u;
	free(u);
	return NULL;
}

void tw_unwinder_free(struct tw_unwinder *u)
{
	for (uint32_t k = 0; u && k < u->places->files.n; k++) {
		if (u->files[k].cfi)
			dwarf_cfi_end(u->files[k].cfi);
		elf_end(u->files[k].elf);
		if (u->files[k].tried && u->files[k].fd >= 0)
			close(u->files[k].fd);
	}
	if (u)
		free(u->files);
	if (u)
		free(u->bytes);
	free(u);
}

/* ---- what is taken ---- */

int tw_unwinder_take(struct tw_unwinder *u, const struct tw_stack *e, size_t bytes)
{
	const size_t n = bytes - sizeof *e;
	if (e->at == e->sp) {
		u->first = *e;
		u->n = 0;
		u->has = 1;
	}
	if (!u->has || e->at != u->first.sp + u->n)
		return TW_OK;
	if (u->n + n > u->room) {
		const size_t room = 2 * (u->n + n);
		uint8_t *more = realloc(u->bytes, room);
		if (!more)
			return tw_fail(TW_ERR_MEMORY, "stack");
		u->bytes = more;
		u->room = room;
	}
	memcpy(u->bytes + u->n, e + 1, n);
	u->n += n;
	return TW_OK;
}

void tw_unwinder_forget(struct tw_unwinder *u)
{
	u->has = 0;
}

int tw_unwinder_has(const struct tw_unwinder *u)
{
	return u->has;
}

static int read_word(const struct tw_unwinder *u, uint64_t at, uint64_t *to)
{
	const uint64_t k = at - u->first.sp;
	if (k > u->n || u->n - k < sizeof *to)
		return 0;
	memcpy(to, u->bytes + k, sizeof *to);
	return 1;
}

/* ---- what is known of code ---- */

static void open_file(struct file *f, const char *path)
{
	f->tried = 1;
	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		return;
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
	if (f->elf)
		f->cfi = dwarf_getcfi_elf(f->elf);
	tw_module_read(path, &f->module);
}

/* The frame information for code at pc, to be freed; NULL: none. */
static Dwarf_Frame *frame_at(struct tw_unwinder *u, uint32_t image, uint64_t pc)
{
	const size_t k = tw_places_find(u->places, TW_SYMBOLS_IMAGE(image), pc);
	Dwarf_Frame *frame = NULL;
	uint64_t vaddr;
	if (k == TW_NO_MODULE)
		return NULL;
	const struct tw_module *m = tw_recording_module(u->places->recording, k);
	struct file *f = &u->files[u->places->file_of[k]];
	if (!f->tried)
		open_file(f, m->path);
	if (!f->cfi || !tw_module_vaddr(&f->module, pc - m->address + m->offset, &vaddr) || dwarf_cfi_addrframe(f->cfi, vaddr, &frame))
		return NULL;
	return frame;
}

/* ---- expressions ---- */

enum { DEPTH = 16 };

struct sum {
	const struct tw_unwinder *u;
	const struct frame *frame;
	uint64_t cfa;
	uint64_t stack[DEPTH];
	unsigned n;
	int is_value, is_register; /* the result is the value itself, or a register's value; otherwise it is the value's address */
};

static int push(struct sum *s, uint64_t v)
{
	if (s->n == DEPTH)
		return 0;
	s->stack[s->n++] = v;
	return 1;
}

static int push_register(struct sum *s, uint64_t k, uint64_t offset)
{
	return k < REGISTERS && s->frame->known >> k & 1 && push(s, s->frame->reg[k] + offset);
}

static int combine(struct sum *s, uint8_t op)
{
	if (s->n < 2)
		return 0;
	const uint64_t b = s->stack[--s->n], a = s->stack[--s->n];
	switch (op) {
	case DW_OP_plus:
		return push(s, a + b);
	case DW_OP_minus:
		return push(s, a - b);
	case DW_OP_and:
		return push(s, a & b);
	case DW_OP_or:
		return push(s, a | b);
	case DW_OP_mul:
		return push(s, a * b);
	case DW_OP_shl:
		return push(s, a << (b & 63));
	case DW_OP_shr:
		return push(s, a >> (b & 63));
	case DW_OP_ge:
		return push(s, (int64_t)a >= (int64_t)b);
	case DW_OP_gt:
		return push(s, (int64_t)a > (int64_t)b);
	case DW_OP_le:
		return push(s, (int64_t)a <= (int64_t)b);
	case DW_OP_lt:
		return push(s, (int64_t)a < (int64_t)b);
	default:
		return 0;
	}
}

static int dereference(struct sum *s)
{
	return s->n && read_word(s->u, s->stack[s->n - 1], &s->stack[s->n - 1]);
}

static int step(struct sum *s, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(s, op->atom - DW_OP_breg0, op->number);
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		s->is_register = 1;
		return push_register(s, op->atom - DW_OP_reg0, 0);
	}
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(s, op->atom - DW_OP_lit0);
	switch (op->atom) {
	case DW_OP_bregx:
		return push_register(s, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return push(s, s->cfa);
	case DW_OP_plus_uconst:
		return s->n && push(s, s->stack[--s->n] + op->number);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(s, op->number);
	case DW_OP_deref:
		return dereference(s);
	case DW_OP_stack_value:
		s->is_value = 1;
		return 1;
	default:
		return combine(s, op->atom);
	}
}

/* 0: there is something in it that is not known. */
static int evaluate(struct sum *s, const Dwarf_Op *ops, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (!step(s, &ops[k]))
			return 0;
	return s->n > 0;
}

/* ---- frames ---- */

static int find_cfa(const struct tw_unwinder *u, const struct frame *f, Dwarf_Frame *info, uint64_t *cfa)
{
	struct sum s = {.u = u, .frame = f};
	Dwarf_Op *ops;
	size_t n;
	if (dwarf_frame_cfa(info, &ops, &n) || !evaluate(&s, ops, n))
		return 0;
	*cfa = s.stack[s.n - 1];
	return 1;
}

/* The caller's value of a register. 0: unknown. *undefined: according to the frame information there is none. */
static int find_register(const struct tw_unwinder *u, const struct frame *f, Dwarf_Frame *info, uint64_t cfa, int k, uint64_t *to,
                         int *undefined)
{
	struct sum s = {.u = u, .frame = f, .cfa = cfa};
	Dwarf_Op room[3], *ops;
	size_t n;
	if (dwarf_frame_register(info, k, room, &ops, &n))
		return 0;
	*undefined = !n && ops == room;
	if (!n) {
		*to = f->reg[k];
		return !*undefined && f->known >> k & 1;
	}
	if (!evaluate(&s, ops, n))
		return 0;
	*to = s.stack[s.n - 1];
	return s.is_value || s.is_register || read_word(u, *to, to);
}

enum went { UNKNOWN = -1, ENDED, CALLER };

/* From a frame to its caller's. */
static enum went go_up(const struct tw_unwinder *u, struct frame *f, Dwarf_Frame *info)
{
	static const int kept[] = {RBX, RBP, R12, R12 + 1, R12 + 2, R15};
	struct frame caller = {.known = 1u << RSP};
	uint64_t cfa;
	int undefined = 0;
	if (!find_cfa(u, f, info, &cfa))
		return UNKNOWN;
	if (!find_register(u, f, info, cfa, RETURN_ADDRESS, &caller.pc, &undefined))
		return undefined ? ENDED : UNKNOWN;
	for (unsigned k = 0; k < sizeof kept / sizeof *kept; k++)
		if (find_register(u, f, info, cfa, kept[k], &caller.reg[kept[k]], &undefined))
			caller.known |= 1u << kept[k];
	caller.reg[RSP] = cfa;
	*f = caller;
	return caller.pc ? CALLER : ENDED;
}

static struct frame first_frame(const struct tw_stack *e)
{
	struct frame f = {.pc = e->pc, .known = 1u << RBX | 1u << RBP | 1u << RSP | 15u << R12};
	f.reg[RBX] = e->rbx;
	f.reg[RBP] = e->rbp;
	f.reg[RSP] = e->sp;
	f.reg[R12] = e->r12;
	f.reg[R12 + 1] = e->r13;
	f.reg[R12 + 2] = e->r14;
	f.reg[R15] = e->r15;
	return f;
}

int tw_unwinder_find(struct tw_unwinder *u, uint32_t image, uint64_t back[TW_UNWIND_MOST])
{
	struct frame f = first_frame(&u->first);
	u->has = 0;
	for (int n = 0; n < TW_UNWIND_MOST; n++) {
		bool of_signal = false;
		Dwarf_Frame *info = frame_at(u, image, f.pc - (n > 0));
		if (!info)
			return UNKNOWN;
		dwarf_frame_info(info, NULL, NULL, &of_signal);
		const enum went went = of_signal ? ENDED : go_up(u, &f, info);
		free(info);
		if (went != CALLER)
			return went == UNKNOWN ? UNKNOWN : of_signal && n ? n - 1 : n;
		back[n] = f.pc;
	}
	return UNKNOWN;
}
