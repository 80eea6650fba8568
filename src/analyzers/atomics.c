#include "analyzers/atomics.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Where the opcode is, behind prefixes. *locked: lock is one of them. */
static unsigned opcode_at(const uint8_t *code, unsigned bytes, int *locked)
{
	unsigned i = 0;
	*locked = 0;
	for (; i < bytes && (code[i] == 0xf0 || code[i] == 0xf2 || code[i] == 0xf3 || code[i] == 0x66 || code[i] == 0x67 ||
	                     code[i] == 0x2e || code[i] == 0x3e || code[i] == 0x64 || code[i] == 0x65);
	     i++)
		*locked |= code[i] == 0xf0;
	return i + (i < bytes && code[i] >= 0x40 && code[i] <= 0x4f);
}

static int is_locked(const uint8_t *code, unsigned bytes)
{
	int locked;
	const unsigned i = opcode_at(code, bytes, &locked);
	return locked || (i + 1 < bytes && (code[i] == 0x86 || code[i] == 0x87) && code[i + 1] >> 6 != 3);
}

/* Does it push or pop, call or return? Then the source is about other accesses. */
static int is_of_stack(const uint8_t *code, unsigned bytes)
{
	int locked;
	const unsigned i = opcode_at(code, bytes, &locked);
	if (i >= bytes)
		return 0;
	const uint8_t op = code[i], of_ff = op == 0xff && i + 1 < bytes ? code[i + 1] >> 3 & 7 : 0;
	return (op >= 0x50 && op <= 0x5f) || op == 0x68 || op == 0x6a || op == 0xc2 || op == 0xc3 || op == 0xc9 || op == 0xe8 ||
	       of_ff == 2 || of_ff == 6;
}

/* Does it call, jump to or push what it reads? */
static int leads_on(const uint8_t *code, unsigned bytes)
{
	int locked;
	const unsigned i = opcode_at(code, bytes, &locked);
	return i + 1 < bytes && code[i] == 0xff && (code[i + 1] >> 3 & 7) >= 2 && (code[i + 1] >> 3 & 7) != 7;
}

/* Does it access memory at an offset from rsp or rbp, or in an array? */
static int is_of_frame_or_array(const uint8_t *code, unsigned bytes)
{
	int locked;
	unsigned i = opcode_at(code, bytes, &locked);
	const uint8_t rex = i && code[i - 1] >= 0x40 && code[i - 1] <= 0x4f ? code[i - 1] : 0;
	i += 1 + (i < bytes && code[i] == 0x0f);
	if (i >= bytes || code[i] >> 6 == 3)
		return 0;
	const unsigned mod = code[i] >> 6, rm = code[i] & 7;
	if (rm != 4)
		return rm == 5 && mod && !(rex & 1);
	const unsigned sib = i + 1 < bytes ? code[i + 1] : 0;
	return (sib >> 3 & 7) != 4 || (rex & 2) || (!(rex & 1) && ((sib & 7) == 4 || ((sib & 7) == 5 && mod)));
}

static const uint8_t *code_of(const struct tw_descriptor *d, unsigned insn, unsigned *bytes)
{
	const uint8_t *lengths = tw_descriptor_insn_bytes(d);
	unsigned at = 0;
	for (unsigned i = 0; i < insn; i++)
		at += lengths[i];
	*bytes = at + lengths[insn] <= d->code_bytes ? lengths[insn] : 0;
	return tw_descriptor_code(d) + at;
}

/* Is it a member of a language's or a library's atomic types? */
static int is_of_atomic_type(const char *function)
{
	static const char *const kin[] = {"std::atomic",
	                                  "std::__atomic",
	                                  "std::__1::atomic",
	                                  "std::__1::__atomic",
	                                  "std::__cxx_atomic",
	                                  "std::__1::__cxx_atomic",
	                                  "boost::atomics",
	                                  "sync::atomic::",
	                                  "sync/atomic.",
	                                  "internal/atomic.",
	                                  NULL};
	unsigned within = 0; /* arguments of templates: a vector of atomic variables is none */
	for (const char *p = function + (*function == '<'); *p; p++) {
		within += *p == '<';
		within -= *p == '>' && within;
		for (const char *const *k = kin; *k && !within; k++)
			if (!strncmp(p, *k, strlen(*k)))
				return 1;
	}
	return 0;
}

/* Is the function, without its class, its arguments and template arguments, named like an atomic operation? */
static int is_named_so(const char *function)
{
	const char *end = function + strcspn(function, "(<"), *from = end;
	while (from > function && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
		from--;
	return tw_atomic_source_is_operation(from, (size_t)(end - from));
}

static int is_operation(const char *function)
{
	return is_of_atomic_type(function) || is_named_so(function);
}

/*
 * Is it a function by which Rust's libraries synchronize without locks? Built without lines, as generic library code
 * is in a release, its atomic accesses cannot be identified.
 */
static int hands_over(const char *function)
{
	static const char *const modules[] = {"std::sync::mpmc::", "std::sync::mpsc::", "crossbeam_channel::", "crossbeam_deque::",
	                                      "crossbeam_epoch::", "crossbeam_queue::", "concurrent_queue::",  NULL};
	for (const char *const *m = modules; *m; m++)
		if (!strncmp(function + (*function == '<'), *m, strlen(*m)))
			return 1;
	return 0;
}

/* Does another frame, the caller's, say that the order is relaxed? */
static enum tw_atomic_kind judge_frames(struct tw_atomics *a, const struct tw_code_name *name)
{
	for (unsigned k = 0; k < name->n_frames; k++) {
		const struct tw_name_frame *f = &name->frame[k];
		if (is_of_atomic_type(f->function))
			continue;
		return tw_atomic_source_kind(&a->source, f->file, f->line, NULL) == TW_ATOMIC_RELAXED ? TW_ATOMIC_RELAXED
		                                                                                      : TW_ATOMIC_ORDERS;
	}
	return TW_ATOMIC_ORDERS;
}

/* What it lacks, by the innermost frame that says so; frames around the first non-atomic function say nothing about it. */
static uint8_t judge_halves(struct tw_atomics *a, const struct tw_code_name *name)
{
	uint8_t lacks = tw_atomic_source_lacks(&a->source, name->file, name->line);
	for (unsigned k = 0; k < name->n_frames && !lacks; k++) {
		lacks = tw_atomic_source_lacks(&a->source, name->frame[k].file, name->frame[k].line);
		if (!is_of_atomic_type(name->frame[k].function))
			break;
	}
	return lacks;
}

static int is_reduction(struct tw_atomics *a, const struct tw_code_name *name)
{
	if (name->function && strstr(name->function, "._loopfn")) /* a loop that gcc has made parallel by itself */
		return 1;
	return tw_atomic_source_reduces(&a->source, name->file, name->line);
}

/* The kind of what is not locked, by names. */
static enum tw_atomic_kind judge_name(struct tw_atomics *a, struct tw_names *names, const struct tw_code_name *name, uint32_t image,
                                      uint64_t addr)
{
	struct tw_data_name data;
	for (unsigned k = 0; k < name->n_frames; k++)
		if (is_of_atomic_type(name->frame[k].function))
			return judge_frames(a, name);
	if (name->line && tw_has_suffix(name->file, ".rs"))
		return TW_ATOMIC_EXPRESSLY_PLAIN;
	tw_names_data(names, image, addr, &data);
	const enum tw_atomic_kind kind = tw_atomic_source_kind(&a->source, name->file, name->line, data.known ? data.object : NULL);
	const int by_name = is_named_so(name->frame[0].function) || (!name->line && hands_over(name->function));
	return kind < TW_ATOMIC_RELAXED && by_name ? TW_ATOMIC_ORDERS : kind;
}

/*
 * Its kind, by names; for a locked instruction also what it lacks, and whether it reduces. `aside`: a stack access,
 * or an indirect jump, of an atomic function that is not inlined.
 */
static enum tw_atomic_kind judge(struct tw_atomics *a, const struct tw_ref *r, uint32_t image, struct tw_atomic_insn *of, int aside)
{
	struct tw_names *names = tw_context_names(a->context);
	struct tw_code_name name;
	if (!names)
		return of->locked ? TW_ATOMIC_ORDERS : TW_ATOMIC_UNKNOWN;
	tw_names_code(names, image, r->pc, &name);
	of->lacks = of->locked ? judge_halves(a, &name) : 0;
	of->reduces = of->locked && is_reduction(a, &name);
	if (!of->locked && aside && name.n_frames == 1 && is_operation(name.frame[0].function))
		return TW_ATOMIC_EXPRESSLY_PLAIN;
	const enum tw_atomic_kind kind = judge_name(a, names, &name, image, r->addr);
	return of->locked && kind < TW_ATOMIC_RELAXED ? TW_ATOMIC_ORDERS : kind;
}

int tw_atomics_may_be(struct tw_atomics *a, uint32_t image, uint64_t pc, uint64_t addr)
{
	struct tw_names *names = tw_context_names(a->context);
	struct tw_code_name name;
	if (!names)
		return 1;
	tw_names_code(names, image, pc, &name);
	return judge_name(a, names, &name, image, addr) == TW_ATOMIC_UNKNOWN;
}

static struct tw_atomic_insn *insns_of(struct tw_atomics *a, const struct tw_descriptor *d)
{
	struct tw_atomic_insn *of = tw_by_fragment_get(&a->fragments, d->number);
	if (of)
		return of;
	of = calloc(d->n_insns + 1u, sizeof *of);
	if (of && tw_by_fragment_set(&a->fragments, d->number, of))
		return of;
	free(of);
	return NULL;
}

const struct tw_atomic_insn *tw_atomics_of(struct tw_atomics *a, const struct tw_descriptor *d, const struct tw_ref *r, uint32_t image)
{
	struct tw_atomic_insn *of = insns_of(a, d);
	unsigned bytes;
	if (!of)
		return NULL;
	of += r->insn;
	if (!of->kind) {
		const uint8_t *code = code_of(d, r->insn, &bytes);
		of->locked = (uint8_t)is_locked(code, bytes);
		of->leads = (uint8_t)leads_on(code, bytes);
		of->kind = is_of_stack(code, bytes) ? TW_ATOMIC_EXPRESSLY_PLAIN
		                                    : (uint8_t)judge(a, r, image, of, is_of_frame_or_array(code, bytes));
	}
	return of;
}

void tw_atomics_free(struct tw_atomics *a)
{
	tw_by_fragment_free(&a->fragments, free);
	tw_atomic_source_free(&a->source);
}
