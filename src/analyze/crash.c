#include "analyze/crash.h"
#include "recording/recording.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ---- finding them ---- */

static int was_killed(const struct tw_recording *r, size_t thread)
{
	size_t process = tw_recording_process_of(r, thread);
	if (process == tw_recording_n_processes(r))
		return WIFSIGNALED(tw_recording_info(r)->wait_status);
	const struct tw_process *p = tw_recording_process(r, process);
	return p->ended ? WIFSIGNALED(p->wait_status) : process == 0 && WIFSIGNALED(tw_recording_info(r)->wait_status);
}

/* The last fatal fault in a stream of events. */
static int find_fatal(const struct tw_chunk *chunk, struct tw_fault *out)
{
	int found = 0;
	size_t at = 0;
	for (const struct tw_event_header *h; (h = tw_event_next(chunk->e, chunk->n_e, &at));)
		if (h->type == TW_EVENT_FAULT && ((const struct tw_fault *)(h + 1))->fatal) {
			memcpy(out, h + 1, sizeof *out);
			found = 1;
		}
	return found;
}

int tw_crashes(const struct tw_recording *r, struct tw_crash *crashes, size_t room, size_t *n)
{
	struct tw_coded_chunk c = {0};
	*n = 0;
	for (size_t i = 0; i < tw_recording_n_threads(r); i++) {
		struct tw_crash crash = {.thread = i};
		uint32_t n_chunks = tw_recording_thread(r, i)->n_chunks;
		if (!n_chunks || !was_killed(r, i))
			continue;
		int error = tw_recording_events(r, i, n_chunks - 1, &c);
		if (error == TW_ERR_MEMORY) {
			tw_coded_chunk_release(&c);
			return error;
		}
		if (error || !find_fatal(&c.chunk, &crash.fault))
			continue;
		if (*n < room)
			crashes[*n] = crash;
		++*n;
	}
	tw_coded_chunk_release(&c);
	return 0;
}

/* ---- the access ---- */

static uint64_t register_of(const struct tw_fault *f, uint8_t reg)
{
	return reg < TW_NREGS ? f->regs[reg] : 0;
}

/* The address of a plain reference. 0: unknown, since its segment's base is unknown. */
static uint64_t address_of(const struct tw_fault *f, const struct tw_op *op)
{
	uint64_t index = register_of(f, op->index);
	if (op->flags & TW_OPF_INDEX8)
		index &= 0xff;
	uint64_t address = register_of(f, op->base) + (index << op->scale) + (uint64_t)op->disp;
	if (op->flags & TW_OPF_ADDR32)
		address &= UINT32_MAX;
	return op->seg == TW_SEG_NONE ? address : 0;
}

static int is_canonical(uint64_t address)
{
	return (uint64_t)((int64_t)(address << 16) >> 16) == address;
}

/* Of vector registers, whose instructions may want that. */
static int is_misaligned(uint64_t address, unsigned size)
{
	enum { VECTOR = 16 };
	return size >= VECTOR && address % VECTOR;
}

/*
 * Whether the fault can have been at this access: its address is the one that the kernel gives; or, if it gives none,
 * it is non-canonical or misaligned.
 */
static int fits(const struct tw_fault *f, uint64_t address, const struct tw_op *op)
{
	if (!f->access)
		return !is_canonical(address) || is_misaligned(address, op->size);
	return address <= f->address && f->address - address < (op->size ? op->size : 1);
}

/* The index of the instruction at pc in a descriptor; -1: not there. */
static int insn_at(const struct tw_descriptor *d, uint64_t pc)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	const uint8_t *bytes = tw_descriptor_insn_bytes(d);
	for (unsigned i = 0; i < d->n_blocks; i++) {
		uint64_t at = b[i].pc;
		for (unsigned k = b[i].first_insn; pc - b[i].pc < b[i].bytes && k < b[i].first_insn + (unsigned)b[i].n_insns;
		     at += bytes[k++])
			if (at == pc)
				return (int)k;
	}
	return -1;
}

static int names_registers(const struct tw_descriptor *d)
{
	return d->format == TW_FORMAT_DEP || d->format == TW_FORMAT_CALL || d->format == TW_FORMAT_DEP06;
}

/* Looks for the instruction in a descriptor. Returns whether it is there; fills *found if it makes the access. */
static int look_in(const struct tw_descriptor *d, const struct tw_fault *f, struct tw_undone *found)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	int insn = names_registers(d) ? insn_at(d, f->pc) : -1;
	for (unsigned k = 0; insn >= 0 && k < d->n_ops; k++) {
		if (op[k].insn != insn || op[k].kind != TW_OP_REF || !fits(f, address_of(f, &op[k]), &op[k]))
			continue;
		*found = (struct tw_undone){address_of(f, &op[k]), op[k].size, op[k].type};
		break;
	}
	return insn >= 0;
}

struct tw_undone tw_crash_access(const struct tw_recording *r, const struct tw_descriptor *d, const struct tw_fault *f)
{
	static const uint8_t types[] = {
	    [TW_ACCESS_UNKNOWN] = 0, [TW_ACCESS_READ] = TW_READ, [TW_ACCESS_WRITE] = TW_WRITE, [TW_ACCESS_EXECUTE] = 0};
	struct tw_undone found = {f->address, 0, f->access <= TW_ACCESS_EXECUTE ? types[f->access] : 0};
	int memory = f->code > 0 && (f->number == SIGSEGV || f->number == SIGBUS) && f->access != TW_ACCESS_EXECUTE;
	if (!memory || (d && look_in(d, f, &found)))
		return found;
	for (size_t i = tw_recording_n_descriptors(r); i-- > 0;)
		if (look_in(tw_recording_descriptor_at(r, i), f, &found))
			break;
	return found;
}

int tw_crash_is_access(const struct tw_fault *f, const struct tw_undone *undone)
{
	return f->access != TW_ACCESS_UNKNOWN || undone->size;
}
