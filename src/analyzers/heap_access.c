/*
 * Reads and writes of blocks, and accesses to memory that belongs to no block.
 *
 * The program's own code, and the functions of the C library that work on memory passed to them, must touch live
 * blocks only. Such library functions write exactly what they were given, but most read more than that, up to the end
 * of a page: memory after or before a live block that the same call has read is not checked. But if such a function
 * has read a block to its end or further, has branched on that, and then reads what follows, it has not found the end
 * of a string where it must be: that is reported. The kernel's reads and writes are those of read(2), write(2) and
 * similar calls. What the rest of the C library reads counts as read.
 */
#include "analyzers/heap_state.h"
#include "analyzers/kernel_buffers.h"
#include "base/array.h"

enum { BESIDE = 32, READ_TOO_MUCH = 256 };

static int is_same_place(const struct tw_heap_error *a, const struct tw_heap_error *b)
{
	return a->is_given && b->is_given ? a->path == b->path && a->type == b->type : a->pc == b->pc;
}

static int is_same(const struct tw_heap_error *a, const struct tw_heap_error *b)
{
	return a->kind == b->kind && is_same_place(a, b) && a->image == b->image && a->site == b->site && a->free_path == b->free_path;
}

int tw_heap_tell(struct tw_heap_state *s, const struct tw_heap_error *e)
{
	for (size_t i = 0; i < s->n_errors; i++)
		if (is_same(&s->errors[i], e)) {
			s->errors[i].times++;
			return 0;
		}
	if (s->n_errors == TW_HEAP_MOST_ERRORS) {
		s->left_out++;
		return 0;
	}
	struct tw_heap_error *errors = tw_array_room(s->errors, s->n_errors, &s->errors_room, sizeof *errors);
	if (!errors)
		return TW_ERR_MEMORY;
	s->errors = errors;
	errors[s->n_errors] = *e;
	errors[s->n_errors++].times = 1;
	return 0;
}

struct tw_heap_error tw_heap_error_of(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, uint32_t number,
                                      enum tw_heap_error_kind kind)
{
	const struct tw_heap_block *b = &s->blocks.items[number];
	return (struct tw_heap_error){.kind = (uint8_t)kind,
	                              .thread = thread,
	                              .image = t->image,
	                              .path = tw_callpath_number(&t->path, &s->paths, t->image),
	                              .block = number,
	                              .serial = b->serial,
	                              .bytes = b->bytes,
	                              .site = b->path,
	                              .free_path = b->live ? 0 : b->free_path};
}

/* The block near an access to memory of no block; 0: none is near. */
static uint32_t beside(struct tw_heap_state *s, uint32_t program, uint64_t addr)
{
	for (uint64_t d = 8; d <= BESIDE; d += 8) {
		uint32_t number = tw_heap_blocks_at(&s->blocks, program, addr - d);
		if (number && s->blocks.items[number].live)
			return number;
	}
	for (uint64_t d = 8; d <= BESIDE / 2; d += 8) {
		uint32_t number = tw_heap_blocks_at(&s->blocks, program, addr + d);
		if (number && s->blocks.items[number].live)
			return number;
	}
	return 0;
}

/*
 * Are all blocks of the program known? In a forked process, and in one that was running before recording started,
 * memory of no known block may have been allocated before.
 */
static int is_whole(const struct tw_heap_state *s, uint32_t program)
{
	return s->threads[tw_recording_find_thread(s->recording, program)].is_whole;
}

/* What is wrong with an access, and of which block; 0: nothing. */
static uint32_t judge(struct tw_heap_state *s, const struct tw_heap_thread *t, uint64_t addr, uint32_t size, enum tw_heap_error_kind *kind)
{
	uint32_t number = tw_heap_blocks_at(&s->blocks, t->program, addr);
	const struct tw_heap_block *b = &s->blocks.items[number];
	*kind = TW_HEAP_BESIDE_BLOCK;
	if (!number)
		return is_whole(s, t->program) ? beside(s, t->program, addr) : 0;
	if (b->live)
		return addr >= b->addr && addr + size <= b->addr + b->usable ? 0 : number;
	*kind = TW_HEAP_AFTER_FREE;
	return number;
}

static int suspect(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, const struct tw_ref *r)
{
	enum tw_heap_error_kind kind;
	const uint32_t number = judge(s, t, r->addr, r->size, &kind);
	if (!number)
		return 0;
	struct tw_heap_error *suspects = tw_array_room(t->suspects, t->n_suspects, &t->suspects_room, sizeof *suspects);
	if (!suspects)
		return TW_ERR_MEMORY;
	t->suspects = suspects;
	struct tw_heap_error e = tw_heap_error_of(s, t, thread, number, kind);
	e.pc = r->pc;
	e.addr = r->addr;
	e.size = r->size;
	e.type = r->type;
	e.offset = r->addr - s->blocks.items[number].addr;
	e.is_given = (uint8_t)tw_code_is_given(t->owner);
	if (t->call) {
		e.function = tw_calling_name(t->call);
		e.path = tw_callpath_of_call(&t->path, &s->paths, t->image, t->call->sp, t->call->back);
	}
	if (t->n_suspects < TW_HEAP_MOST_ERRORS)
		suspects[t->n_suspects++] = e;
	return 0;
}

int tw_heap_look_again(struct tw_heap_state *s, struct tw_heap_thread *t)
{
	int error = 0;
	for (size_t i = 0; i < t->n_suspects && !error; i++) {
		const struct tw_heap_error *e = &t->suspects[i];
		enum tw_heap_error_kind kind;
		const uint32_t number = judge(s, t, e->addr, e->size, &kind);
		if (number == e->block && kind == e->kind && s->blocks.items[number].serial == e->serial)
			error = tw_heap_tell(s, e);
	}
	t->n_suspects = 0;
	return error;
}

/* ---- accesses ---- */

static int take_own(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, const struct tw_ref *r)
{
	const uint32_t number = tw_heap_blocks_at(&s->blocks, t->program, r->addr);
	struct tw_heap_block *b = &s->blocks.items[number];
	if (!number || !b->live || r->addr + r->size > b->addr + b->usable)
		return suspect(s, t, thread, r);
	return r->type & TW_READ ? tw_heap_blocks_read(b, r->addr - b->addr, r->size) : 0;
}

/* Marks the part of [addr, end) in the first live block there as read. Returns its number; 0: none; or a negative TW_ERR_. */
static int64_t mark_read(struct tw_heap_state *s, const struct tw_heap_thread *t, uint64_t addr, uint64_t end)
{
	for (uint64_t at = addr; at < end; at = (at | 7) + 1) {
		const uint32_t number = tw_heap_blocks_at(&s->blocks, t->program, at);
		struct tw_heap_block *b = &s->blocks.items[number];
		if (!number || !b->live || b->addr >= end)
			continue;
		const uint64_t from = addr > b->addr ? addr - b->addr : 0;
		const int error = tw_heap_blocks_read(b, from, end - b->addr - from);
		return error ? error : (int64_t)number;
	}
	return 0;
}

/* A read that directly follows what was read of a block, or continues from there. */
static void read_on(struct tw_heap_thread *t, const struct tw_ref *r)
{
	for (unsigned i = 0; i < t->n_touched && i < TW_HEAP_TOUCHED; i++)
		if (r->addr <= t->touched[i].reached && r->addr + r->size > t->touched[i].reached)
			t->touched[i].reached = r->addr + r->size;
}

static void note_touched(struct tw_heap_thread *t, const struct tw_heap_block *b, const struct tw_ref *r)
{
	for (unsigned i = 0; i < t->n_touched && i < TW_HEAP_TOUCHED; i++) {
		if (t->touched[i].start != b->addr)
			continue;
		t->touched[i].reached = t->touched[i].reached ? t->touched[i].reached : r->addr + r->size;
		return;
	}
	const unsigned i = t->n_touched++ % TW_HEAP_TOUCHED;
	t->touched[i].start = b->addr;
	t->touched[i].end = b->addr + b->usable;
	t->touched[i].reached = r->addr + r->size;
	t->touched[i].looked = 0;
}

/* A function begins, or goes on with another block of its code. */
static void look_on(struct tw_heap_thread *t, int begins)
{
	for (unsigned i = 0; i < t->n_touched && i < TW_HEAP_TOUCHED; i++) {
		t->touched[i].reached = begins ? 0 : t->touched[i].reached;
		t->touched[i].looked = t->touched[i].reached;
	}
}

/* Has it searched all of a block in vain, and does it read on right there? */
static int has_missed_end(const struct tw_heap_thread *t, const struct tw_ref *r)
{
	for (unsigned i = 0; i < t->n_touched && i < TW_HEAP_TOUCHED; i++)
		if (t->touched[i].looked >= t->touched[i].end && t->touched[i].looked == r->addr)
			return 1;
	return 0;
}

/* Is it so close to a block that the same call has read that it may be harmless overreading? */
static int reads_too_much(const struct tw_heap_thread *t, uint64_t addr)
{
	for (unsigned i = 0; i < t->n_touched && i < TW_HEAP_TOUCHED; i++)
		if (addr + READ_TOO_MUCH >= t->touched[i].start && addr < t->touched[i].end + READ_TOO_MUCH)
			return 1;
	return 0;
}

/* A read by a function that may read beyond what it was given. */
static int take_given_read(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, const struct tw_ref *r)
{
	const uint32_t first = tw_heap_blocks_at(&s->blocks, t->program, r->addr);
	if (t->owner == TW_CODE_SCAN && has_missed_end(t, r) && !(first && s->blocks.items[first].live)) {
		t->n_touched = 0;
		return suspect(s, t, thread, r);
	}
	const int64_t number = mark_read(s, t, r->addr, r->addr + r->size);
	read_on(t, r);
	if (number > 0)
		note_touched(t, &s->blocks.items[number], r);
	if (number || reads_too_much(t, r->addr))
		return number < 0 ? (int)number : 0;
	return first ? suspect(s, t, thread, r) : 0;
}

static int take_ref(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, enum tw_code_owner owner, const struct tw_ref *r)
{
	const int may_read_beside = owner == TW_CODE_GIVEN || owner == TW_CODE_SCAN;
	if (owner == TW_CODE_PROGRAM || owner == TW_CODE_COPY || (may_read_beside && (r->type & TW_WRITE)))
		return take_own(s, t, thread, r);
	if (may_read_beside)
		return take_given_read(s, t, thread, r);
	const int64_t number = r->type & TW_READ ? mark_read(s, t, r->addr, r->addr + r->size) : 0;
	return number < 0 ? (int)number : 0;
}

int tw_heap_access(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, enum tw_code_owner owner, const struct tw_ref *refs,
                   size_t n)
{
	int error = 0;
	if (owner == TW_CODE_SCAN)
		look_on(t, t->owner != owner);
	else if (owner != TW_CODE_GIVEN)
		t->n_touched = 0;
	t->owner = owner;
	if (t->calling.in_memory)
		return 0;
	for (size_t k = 0; k < n && !error; k++)
		if (tw_heap_blocks_near(&s->blocks, t->program, refs[k].addr))
			error = take_ref(s, t, thread, owner, &refs[k]);
	return error;
}

/* ---- the kernel's ---- */

struct buffer_of {
	struct tw_heap_state *s;
	struct tw_heap_thread *t;
	uint32_t thread;
	uint64_t pc; /* of the call */
};

/* Where it begins, and where the block ends that it begins in. */
static int take_buffer(void *context, uint64_t addr, uint64_t bytes, int is_filled)
{
	const struct buffer_of *of = context;
	const struct tw_ref r = {of->pc, addr, (uint32_t)bytes, 0, is_filled ? TW_WRITE : TW_READ, 0};
	if (!tw_heap_blocks_near(&of->s->blocks, of->t->program, addr))
		return 0;
	const int64_t number = is_filled ? 0 : mark_read(of->s, of->t, addr, addr + bytes);
	return number < 0 ? (int)number : suspect(of->s, of->t, of->thread, &r);
}

int tw_heap_take_buffers(struct tw_heap_state *s, struct tw_heap_thread *t, uint32_t thread, const struct tw_calling_step *step)
{
	struct buffer_of of = {s, t, thread, step->call.back - 1};
	t->call = &step->call;
	const int error = tw_kernel_buffers(step, take_buffer, &of);
	t->call = NULL;
	return error;
}
