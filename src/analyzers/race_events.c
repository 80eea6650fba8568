#include "analyzers/kernel_buffers.h"
#include "analyzers/ordering_tasks.h"
#include "analyzers/race_state.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <trackway/called.h>

static int release_block(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_open_call *c)
{
	const enum tw_code_owner owner = tw_runtime_code_at(&s->runtime, c->back - 1, t->serial);
	const int theirs = tw_code_is_library(owner) || owner == TW_CODE_OPENMP;
	return c->args[0] && !theirs && tw_race_is_threaded(s, t->order->program) ? tw_race_release_block(s, t, c->args[0], c->back) : 0;
}

static void give_block(struct tw_race_state *s, const struct tw_race_thread *t, uint64_t addr, uint64_t bytes)
{
	if (addr)
		tw_race_forget(s, t->order->program, addr, addr + bytes);
}

static int makes_tasks(uint8_t kind)
{
	return kind == TW_CALLED_TASK || kind == TW_CALLED_TASKLOOP || kind == TW_CALLED_TARGET;
}

/* libgomp has allocated a block: perhaps for a task that the thread makes. */
static int give_task(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_calling_step *step)
{
	const uint8_t around = t->calling.n ? t->calling.open[t->calling.n - 1].kind : TW_CALLED_OTHER;
	if (!makes_tasks(around) || tw_runtime_code_at(&s->runtime, step->call.back - 1, t->serial) != TW_CODE_OPENMP)
		return 0;
	return tw_ordering_made_block(&s->ordering, t->order, step->result, step->call.args[0], around == TW_CALLED_TASKLOOP);
}

static int take_memory(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_calling_step *step)
{
	const struct tw_open_call *c = &step->call;
	if (step->change == TW_CALLING_ENTERED)
		return c->kind == TW_CALLED_FREE ? release_block(s, t, c) : 0;
	switch (c->kind) {
	case TW_CALLED_MALLOC:
		give_block(s, t, step->result, c->args[0]);
		return give_task(s, t, step);
	case TW_CALLED_NEW_ALIGNED:
		give_block(s, t, step->result, c->args[0]);
		return 0;
	case TW_CALLED_CALLOC:
		give_block(s, t, step->result, c->args[0] * c->args[1]);
		return 0;
	case TW_CALLED_POSIX_MEMALIGN:
		give_block(s, t, step->stored, c->args[2]);
		return 0;
	case TW_CALLED_REALLOC:
	case TW_CALLED_MEMALIGN:
		give_block(s, t, step->result == c->args[0] ? 0 : step->result, c->args[1]);
		return 0;
	default:
		return 0;
	}
}

/* Whose buffer the kernel reads or fills. */
struct buffer_of {
	struct tw_race_state *s;
	struct tw_race_thread *t;
	uint64_t back;
};

static int take_one_buffer(void *context, uint64_t addr, uint64_t bytes, int is_filled)
{
	const struct buffer_of *of = context;
	return tw_race_take_buffer(of->s, of->t, addr, bytes, is_filled, of->back);
}

/*
 * What the kernel reads for a call it reads before the call tells others anything; what it fills it fills after
 * others have told what is taken.
 */
static int take_buffer(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_calling_step *step)
{
	struct buffer_of of = {s, t, step->call.back};
	if (!tw_race_is_threaded(s, t->order->program) || tw_runtime_code_at(&s->runtime, of.back - 1, t->serial) != TW_CODE_PROGRAM)
		return 0;
	return tw_kernel_buffers(step, take_one_buffer, &of);
}

static int order_call(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_calling_step *step)
{
	int error = step->change == TW_CALLING_ENTERED ? take_buffer(s, t, step) : 0;
	if (step->change == TW_CALLING_ENTERED && makes_tasks(step->call.kind))
		tw_race_note_maker(t, &step->call);
	error = error ? error : tw_ordering_call(&s->ordering, t->order, step);
	return error || step->change != TW_CALLING_LEFT ? error : take_buffer(s, t, step);
}

static int take_call(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_calling_step *step)
{
	struct tw_held_step held;
	if (step->change == TW_CALLING_NOTHING || step->within)
		return 0;
	if (tw_called_is_memory(step->call.kind))
		return take_memory(s, t, step);
	if (step->call.kind == TW_CALLED_CREATE && !tw_race_is_threaded(s, t->order->program))
		s->threaded[s->n_threaded++] = t->order->program;
	if (step->call.kind == TW_CALLED_GUARD_ACQUIRE)
		tw_race_mark_waited(s, t, step->call.args[0], 1);
	int error = tw_held_take(&t->held, step, &held);
	if (!error && held.change != TW_HELD_NOTHING) {
		t->locks = tw_locksets_number(&s->locksets, &t->held);
		error = tw_ordering_lock(&s->ordering, t->order, &held);
	}
	return error ? error : order_call(s, t, step);
}

/* In the used part of the thread's stack another thread may have had its own before. */
static void begin_stack(struct tw_race_state *s, const struct tw_race_thread *t, const struct tw_keyframe *k)
{
	if (k->seg_base[TW_SEG_FS])
		for (size_t i = 0; i < s->n_threads; i++) {
			const struct tw_race_thread *o = &s->threads[i];
			if (o->known && o != t && o->order->ended && o->order->fs == k->seg_base[TW_SEG_FS] && o->lowest < o->order->fs &&
			    o->order->fs - o->lowest < TW_RACE_STACK)
				tw_race_forget(s, t->order->program, o->lowest - 4096, o->order->fs + 4096);
		}
}

static int take_syscall(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_syscall *e)
{
	const int wakes = e->number == SYS_futex && (e->args[1] & FUTEX_CMD_MASK) == FUTEX_WAKE;
	if (e->number == SYS_futex)
		tw_race_mark_waited(s, t, e->args[0], 4);
	return wakes ? tw_ordering_wakes(&s->ordering, t->order, e->args[0]) : 0;
}

/*
 * Newly mapped memory has no history. What was unmapped is not forgotten: another thread may have mapped it again
 * before the call returned.
 */
static void take_mapping(struct tw_race_state *s, const struct tw_race_thread *t, const struct tw_syscall *e)
{
	const uint64_t bytes = e->number == SYS_mmap ? e->args[1] : e->number == SYS_mremap ? e->args[2] : 0, at = (uint64_t)e->result;
	if (bytes && e->result > 0 && !(e->number == SYS_mremap && at == e->args[0]))
		tw_race_forget(s, t->order->program, at, at + bytes);
}

/*
 * Does the process have more than one thread from here on, or does it create another that shares memory with it? The
 * creator's event, or the new thread's, comes first.
 */
static int makes_thread(const struct tw_race_state *s, const struct tw_race_thread *t, const struct tw_event *e)
{
	const struct tw_thread_start *start = e->payload;
	const struct tw_fork *fork = e->payload;
	if (e->type == TW_EVENT_FORK)
		return fork->child_pid == t->order->process || tw_shared_memory_has(&s->ordering.shared, t->order->program);
	return e->type == TW_EVENT_THREAD_START && start->pid != start->tid;
}

/* The thread ends holding locks: robust ones go to the next thread that asks for them. */
static int leave_locks(struct tw_race_state *s, struct tw_race_thread *t)
{
	int error = 0;
	for (size_t i = 0; i < t->held.n && !error; i++)
		error = tw_ordering_lock(&s->ordering, t->order, &(struct tw_held_step){TW_HELD_GIVEN, t->held.items[i], 0});
	return error;
}

/* Shared memory has changed: programs that share some are checked like those with several threads. */
static void change_shared(struct tw_race_state *s)
{
	s->changes = s->ordering.shared.changes;
	tw_race_forget_places(s);
	for (size_t i = 0; i < s->n_threads; i++) {
		const uint32_t program = s->ordering.threads[i].program;
		if (!tw_race_is_threaded(s, program) && tw_shared_memory_is_shared(&s->ordering.shared, program))
			s->threaded[s->n_threaded++] = program;
	}
}

/* Calls that the event begins or ends. */
static int take_calls(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_event *e)
{
	struct tw_calling_step step;
	int error;
	do {
		error = tw_calling_take(&t->calling, &s->kinds, e, &step);
		error = error ? error : take_call(s, t, &step);
	} while (!error && step.more);
	return error;
}

int tw_race_take_event(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_event *e)
{
	if (makes_thread(s, t, e) && !tw_race_is_threaded(s, t->order->program))
		s->threaded[s->n_threaded++] = t->order->program;
	if (e->type == TW_EVENT_SYSCALL)
		take_mapping(s, t, e->payload);
	if (e->type == TW_EVENT_KEYFRAME && !t->order->fs)
		begin_stack(s, t, e->payload);
	int error = tw_ordering_event(&s->ordering, t->order, e);
	if (s->changes != s->ordering.shared.changes)
		change_shared(s);
	if (!error && e->type == TW_EVENT_SYSCALL && !t->calling.in_closed)
		error = take_syscall(s, t, e->payload);
	if (!error && e->type == TW_EVENT_THREAD_END) {
		error = leave_locks(s, t);
		tw_race_lines_free(t->lines);
	}
	return error || (e->type != TW_EVENT_CALL && e->type != TW_EVENT_RETURN) ? error : take_calls(s, t, e);
}
