/*
 * Code, shared by all programs, for a value that is mispredicted, or predicted in an unexpected mode: does what
 * tw_value_reader_miss and tw_value_reader_hit do, without a branch on the code or the mode, since these are
 * unpredictable. The value is the sum of a difference and its base, both selected by tables of masks. The difference
 * is a literal (cut from no bytes if there is none), the slot's step, or the successor of its last value; the base is
 * the last value of the slot or of the register.
 */
#include "recording/predictor_code.h"
#include "replay/compile_miss.h"
#include "replay/state.h"

enum { SLOT = AS_RCX, KIND = AS_RDX, VALUE = AS_RSI, OTHER = AS_R10, INDEX = AS_R8, REGISTER = AS_R9 };

/* An item of a table of the walk. */
#define OF(index, table) ((struct as_mem){CODE_WALK, index, 3, WALK(table).disp})

static const uint8_t kept[] = {SLOT, KIND, VALUE, OTHER, INDEX, REGISTER};

/* eax is the slot's number. */
static void begin(struct as *a)
{
	for (unsigned i = 0; i < sizeof kept; i++)
		as_push(a, kept[i]);
	tw_code_slot(a, SLOT, AS_RAX, CODE_WALK, WALK(slot).disp);
}

static void end(struct as *a)
{
	for (unsigned i = sizeof kept; i-- > 0;)
		as_pop(a, kept[i]);
}

/* All as begin() found it, and on. */
static void go_on(struct as *a, const uint8_t *to)
{
	as_lea(a, AS_RAX, as_at(SLOT, -WALK(slot).disp), 1);
	as_alu(a, AS_SUB, AS_RAX, CODE_WALK, 1);
	as_shift(a, AS_SHR, AS_RAX, 4, 1);
	end(a);
	as_jump(a, to);
}

/* The value by KIND, to VALUE, as a difference to its base. `follows`, and OTHER: the successor of the slot's last value. */
static void difference(struct as *a, struct as_mem follows)
{
	as_load(a, VALUE, as_at(CODE_LITERALS, 0));
	as_alu_mem(a, AS_AND, VALUE, OF(KIND, literal_mask));
	as_alu_mem(a, AS_XOR, VALUE, OF(KIND, literal_sign));
	as_alu_mem(a, AS_SUB, VALUE, OF(KIND, literal_sign));
	as_alu_mem(a, AS_ADD, CODE_LITERALS, OF(KIND, literal_bytes));
	as_load_signed32(a, AS_RAX, TW_SLOT_AT(SLOT, step));
	as_alu_mem(a, AS_AND, AS_RAX, OF(KIND, is_step));
	as_alu(a, AS_ADD, VALUE, AS_RAX, 1);
	as_load_signed32(a, OTHER, follows);
	as_move(a, AS_RAX, OTHER);
	as_alu_mem(a, AS_AND, AS_RAX, OF(KIND, is_successor));
	as_alu(a, AS_ADD, VALUE, AS_RAX, 1);
}

/* Then, as a difference to the slot's last value. */
static void base(struct as *a)
{
	as_load8(a, AS_RAX, TW_SLOT_AT(SLOT, reg));
	as_load(a, REGISTER, OF(AS_RAX, values.p.reg));
	as_move(a, AS_RAX, REGISTER);
	as_alu_mem(a, AS_SUB, AS_RAX, TW_SLOT_AT(SLOT, last));
	as_alu_mem(a, AS_AND, AS_RAX, OF(KIND, to_register));
	as_alu(a, AS_ADD, VALUE, AS_RAX, 1);
}

static void learn(struct as *a)
{
	as_alu_mem(a, AS_ADD, VALUE, TW_SLOT_AT(SLOT, last));
	as_move(a, AS_RAX, VALUE);
	as_alu(a, AS_SUB, AS_RAX, REGISTER, 0);
	as_store32(a, TW_SLOT_AT(SLOT, step), AS_RAX);
	as_store(a, TW_SLOT_AT(SLOT, last), VALUE);
	as_load8(a, AS_RAX, TW_SLOT_AT(SLOT, reg));
	as_store(a, OF(AS_RAX, values.p.reg), VALUE);
	as_move(a, AS_RAX, VALUE);
}

/* Of a value that is predicted what follows is learned only from literals. */
static void follow(struct as *a, struct as_mem follows, int predicted)
{
	if (predicted) {
		as_alu(a, AS_XOR, OTHER, VALUE, 1);
		as_alu_mem(a, AS_AND, OTHER, OF(KIND, is_way));
		as_alu(a, AS_XOR, OTHER, VALUE, 1);
	}
	as_store32(a, follows, predicted ? OTHER : VALUE);
}

/* The value by KIND, to rax. */
static void work_out(struct as *a, int predicted)
{
	struct as_mem follows = tw_code_successor(a, INDEX, TW_SLOT_AT(SLOT, last), CODE_WALK, WALK(values.p.successor).disp);
	difference(a, follows);
	base(a);
	follow(a, follows, predicted);
	learn(a);
}

/* The next run to CODE_RUN, the next code to KIND; jumps to `slow` in unusual cases. */
static void take_code(struct as *a, uint8_t *slow[])
{
	as_load(a, AS_RAX, WALK(values.more));
	as_test(a, AS_RAX, 1);
	*slow++ = as_jump_forward(a, AS_NOT_EQUAL);
	as_load(a, VALUE, WALK(values.codes.at));
	as_alu_mem(a, AS_CMP, VALUE, WALK(values.codes.end));
	*slow++ = as_jump_forward(a, AS_ABOVE_EQUAL);
	as_load(a, OTHER, WALK(values.runs.at));
	as_alu_mem(a, AS_CMP, OTHER, WALK(values.runs.end));
	*slow++ = as_jump_forward(a, AS_ABOVE_EQUAL);
	as_lea(a, AS_RAX, as_at(CODE_LITERALS, TW_RUN_MORE * sizeof(uint64_t) + sizeof(uint64_t) + TW_LITERAL_PADDING), 1);
	as_alu_mem(a, AS_CMP, AS_RAX, WALK(values.literals.end));
	*slow++ = as_jump_forward(a, AS_ABOVE);
	as_load8(a, KIND, as_at(VALUE, 0));
	as_alu_constant(a, AS_CMP, KIND, TW_NCODES, 0);
	*slow++ = as_jump_forward(a, AS_ABOVE_EQUAL);
	as_load8(a, INDEX, as_at(OTHER, 0));
	as_alu_constant(a, AS_CMP, INDEX, TW_RUN_MORE, 0);
	*slow++ = as_jump_forward(a, AS_EQUAL);
	as_move(a, CODE_RUN, INDEX);
	as_alu_constant(a, AS_ADD, VALUE, 1, 1);
	as_store(a, WALK(values.codes.at), VALUE);
	as_alu_constant(a, AS_ADD, OTHER, 1, 1);
	as_store(a, WALK(values.runs.at), OTHER);
}

/* The mode or kind of literal for the code in KIND, to KIND; sets the slot's mode, if lasting. */
static void take_kind(struct as *a)
{
	as_load8(a, AS_RAX, TW_SLOT_AT(SLOT, way));
	as_load(a, OTHER, OF(KIND, kind_of_code));
	as_move(a, VALUE, OTHER);
	as_alu(a, AS_XOR, VALUE, AS_RAX, 1);
	as_alu_mem(a, AS_AND, VALUE, OF(KIND, is_lasting));
	as_alu(a, AS_XOR, VALUE, AS_RAX, 1);
	as_store8_register(a, TW_SLOT_AT(SLOT, way), VALUE);
	as_move(a, KIND, OTHER);
}

void tw_compile_miss(struct as *a, const uint8_t *by_reader)
{
	uint8_t *slow[6];
	begin(a);
	take_code(a, slow);
	take_kind(a);
	work_out(a, 0);
	end(a);
	as_return(a);
	for (unsigned i = 0; i < sizeof slow / sizeof *slow; i++)
		as_here(a, slow[i]);
	go_on(a, by_reader);
}

void tw_compile_other(struct as *a, const uint8_t *often)
{
	begin(a);
	as_increment8(a, TW_SLOT_AT(SLOT, doubt));
	uint8_t *many = as_jump_forward(a, AS_EQUAL);
	as_load8(a, KIND, TW_SLOT_AT(SLOT, way));
	work_out(a, 1);
	end(a);
	as_return(a);
	as_here(a, many);
	go_on(a, often);
}
