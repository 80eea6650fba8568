/* The shadow stack: calls, recursion, jumps, stubs, longjmp, handlers, fork. Costs are instructions only. */
#include "analyze/callstack.h"
#include "unit.h"

enum { MAIN = 1, F, G, STUB, COMMON, RESOLVER };

static struct tw_call_table table;
static struct tw_callstack stack;

/* Executes n instructions of the function on top. */
static void work(uint64_t n)
{
	stack.cost.insns += n;
}

/* Control comes to `function`, from the instruction at `pc`. */
static void arrive(uint32_t function, uint8_t cause, uint64_t slot, uint64_t pc, int entry)
{
	struct tw_call_place place = {
	    .function = function,
	    .kind = function == STUB || function == COMMON ? TW_CALL_STUB : TW_CALL_FUNCTION,
	    .lazy = function == COMMON,
	    .entry = entry != 0,
	};
	struct tw_arrival arrival = {.cause = cause, .slot = slot};
	struct tw_call_site site = {.in = {TW_CALL_NOWHERE, 0}};
	if (stack.n)
		site = (struct tw_call_site){tw_callstack_top(&stack)->context, 0, pc, NULL};
	EQUAL(tw_callstack_enter(&stack, &place, 0, 0x1000 * function, &arrival, &site), 0);
	EQUAL(tw_callstack_top(&stack)->context.function, function);
}

static void call(uint32_t function, uint64_t slot, uint64_t pc)
{
	arrive(function, TW_ARRIVAL_CALL, slot, pc, 1);
}

static void jump(uint32_t function, uint64_t pc)
{
	arrive(function, TW_ARRIVAL_JUMP, 0, pc, 1);
}

static void start(void)
{
	tw_callstack_init(&stack, &table);
	EQUAL(tw_callstack_begin(&stack, NULL), 0);
	jump(MAIN, 0);
}

static void end(void)
{
	tw_callstack_finish(&stack);
	tw_callstack_free(&stack);
	tw_call_table_free(&table);
}

/* The call from pc to a context; if there is none, one with cost and count 0. */
static struct tw_call found(uint64_t pc, uint32_t to, uint32_t level)
{
	for (uint32_t i = 0; i < table.n; i++)
		if (table.items[i].pc == pc && table.items[i].to.function == to && table.items[i].to.level == level)
			return table.items[i];
	return (struct tw_call){0};
}

/* The call from pc to a context happened so many times, with this total cost. */
static void expect(int line, uint64_t pc, uint32_t to, uint64_t calls, uint64_t insns)
{
	struct tw_call c = found(pc, to, 0);
	if (c.calls != calls || c.cost.insns != insns)
		fprintf(stderr, "line %d: call from %llu to %u\n", line, (unsigned long long)pc, to);
	EQUAL(c.calls, calls);
	EQUAL(c.cost.insns, insns);
}

#define IS(pc, to, calls, insns) expect(__LINE__, pc, to, calls, insns)

static void test_calls(void)
{
	start();
	call(F, 100, 10);
	work(10);
	call(G, 90, 20);
	work(100);
	tw_callstack_return(&stack, 90);
	work(1000);
	tw_callstack_return(&stack, 100);
	IS(10, F, 1, 1110);
	IS(20, G, 1, 100);
	call(F, 100, 11); /* from another place; never returns */
	work(7);
	tw_callstack_finish(&stack);
	IS(11, F, 1, 7);
	end();
}

/* f calls itself three times: f'2 is entered twice from f'2, at no further cost. */
static void test_recursion(void)
{
	start();
	call(F, 100, 10);
	for (uint64_t slot = 90; slot > 60; slot -= 10) {
		work(1);
		call(F, slot, 20);
		EQUAL(tw_callstack_top(&stack)->context.level, 1);
	}
	work(5);
	tw_callstack_return(&stack, 70);
	tw_callstack_return(&stack, 80);
	tw_callstack_return(&stack, 90);
	tw_callstack_return(&stack, 100);
	IS(10, F, 1, 8);
	EQUAL(table.n, 3);
	uint64_t calls = 0, insns = 0;
	for (uint32_t i = 0; i < table.n; i++) {
		calls += table.items[i].to.level ? table.items[i].calls : 0;
		insns += table.items[i].to.level ? table.items[i].cost.insns : 0;
	}
	EQUAL(calls, 3);
	EQUAL(insns, 7);
	end();
}

/* main calls f, which jumps to g: both return together. A jump back into f returns to it. */
static void test_tail_calls(void)
{
	start();
	call(F, 100, 10);
	work(1);
	jump(G, 20);
	work(10);
	EQUAL(stack.n, 3);
	arrive(F, TW_ARRIVAL_JUMP, 0, 30, 0);
	EQUAL(stack.n, 2);
	work(100);
	jump(G, 20);
	work(1000);
	tw_callstack_return(&stack, 100);
	EQUAL(stack.n, 1);
	IS(10, F, 1, 1111);
	IS(20, G, 2, 1010);
	end();
}

/* A stub's cost is charged to the instruction that called it; the call counts for its target. */
static void test_stub(void)
{
	start();
	for (int i = 0; i < 2; i++) {
		struct tw_cost before = stack.cost;
		call(STUB, 100, 10);
		work(3);
		tw_callstack_charge(&stack, &before);
		jump(G, 99);
		work(50);
		tw_callstack_return(&stack, 100);
	}
	IS(10, G, 2, 100);
	IS(10, TW_CALL_NOWHERE, 0, 6);
	IS(99, G, 0, 0);
	end();
}

/* The first time, the path leads through the common stub and the resolver, which is a callee of its own. */
static void test_lazy_binding(void)
{
	start();
	call(STUB, 100, 10);
	jump(COMMON, 98);
	jump(RESOLVER, 99);
	work(20);
	call(F, 80, 30);
	work(200);
	tw_callstack_return(&stack, 80);
	jump(G, 40);
	EQUAL(stack.n, 2);
	work(5);
	tw_callstack_return(&stack, 100);
	IS(10, RESOLVER, 1, 220);
	IS(30, F, 1, 200);
	IS(10, G, 1, 5);
	end();
}

static void test_longjmp(void)
{
	start();
	call(F, 100, 10);
	call(G, 90, 20);
	call(G, 80, 30);
	work(1);
	arrive(F, TW_ARRIVAL_WILD, 0, 40, 0);
	EQUAL(stack.n, 2);
	work(10);
	call(G, 90, 20);
	call(STUB, 85, 50);
	call(F, 100, 11); /* the stack pointer was up there again */
	EQUAL(stack.n, 2);
	work(100);
	tw_callstack_return(&stack, 100);
	IS(10, F, 1, 11);
	IS(20, G, 2, 1);
	IS(11, F, 1, 100);
	end();
}

/* A handler is not part of the interrupted code, whose active functions are not active in it. */
static void test_handler(void)
{
	struct tw_arrival interrupted = {.cause = TW_ARRIVAL_CALL, .slot = 77}, back = {0};
	start();
	call(F, 100, 10);
	work(1);
	EQUAL(tw_callstack_signal(&stack, &interrupted), 0);
	EQUAL(tw_callstack_is_settled(&stack), 0);
	jump(G, 0);
	work(10);
	call(F, 500, 20); /* on another stack */
	EQUAL(tw_callstack_top(&stack)->context.level, 0);
	work(100);
	tw_callstack_return(&stack, 500);
	tw_callstack_sigreturn(&stack, &back);
	EQUAL(back.cause, TW_ARRIVAL_CALL);
	EQUAL(back.slot, 77);
	EQUAL(tw_callstack_top(&stack)->context.function, F);
	work(1000);
	tw_callstack_return(&stack, 100);
	IS(10, F, 1, 1001);
	IS(20, F, 1, 100);
	tw_callstack_sigreturn(&stack, &back); /* none runs: nothing happens */
	EQUAL(stack.n, 1);
	end();
}

/* siglongjmp out of a handler into a function that was interrupted. */
static void test_leaving_a_handler(void)
{
	struct tw_arrival interrupted = {0};
	start();
	call(F, 100, 10);
	work(1);
	EQUAL(tw_callstack_signal(&stack, &interrupted), 0);
	jump(G, 0);
	work(10);
	arrive(F, TW_ARRIVAL_WILD, 0, 30, 0);
	EQUAL(stack.n, 2);
	work(100);
	call(F, 90, 40);
	EQUAL(tw_callstack_top(&stack)->context.level, 1);
	tw_callstack_return(&stack, 100);
	IS(10, F, 1, 101);
	end();
}

/* A child continues at its parent's position; the parent's call is not counted again, but includes what the child does in it. */
static void test_fork(void)
{
	struct tw_callstack child;
	start();
	call(F, 100, 10);
	work(1);
	tw_callstack_init(&child, &table);
	EQUAL(tw_callstack_begin(&child, &stack), 0);
	work(10);
	tw_callstack_return(&stack, 100);
	IS(10, F, 1, 11);
	child.cost.insns += 500;
	tw_callstack_return(&child, 100);
	IS(10, F, 1, 511);
	tw_callstack_finish(&child);
	tw_callstack_free(&child);
	end();
}

/* A return to an unknown place, from a slot below all frames, removes nothing. */
static void test_unmatched_return(void)
{
	start();
	call(F, 100, 10);
	tw_callstack_return(&stack, 50);
	EQUAL(stack.n, 2);
	arrive(G, TW_ARRIVAL_WILD, 0, 20, 1);
	work(5);
	tw_callstack_return(&stack, 100);
	EQUAL(stack.n, 1);
	IS(20, G, 1, 5);
	end();
}

/* With stack switches, a function that is on no known stack continues: that is not a call. A return or jump to its beginning is one. */
static void test_goes_on(void)
{
	static const uint8_t causes[] = {TW_ARRIVAL_BACK, TW_ARRIVAL_WILD};
	for (int k = 0; k < 2; k++) {
		for (int entry = 0; entry < 2; entry++) {
			start();
			call(F, 100, 10);
			arrive(G, causes[k], 0, 20, entry);
			work(5);
			tw_callstack_return(&stack, 100);
			IS(20, G, entry ? 1 : 0, 5);
			IS(10, F, 1, 5);
			end();
		}
	}
}

/* Recording began in F, which MAIN had called: MAIN is not called by F, and F is no longer active when MAIN calls it. */
static void test_began_within(uint8_t cause)
{
	tw_callstack_init(&stack, &table);
	EQUAL(tw_callstack_begin(&stack, NULL), 0);
	jump(F, 0);
	call(G, 100, 10);
	work(1);
	tw_callstack_return(&stack, 100);
	arrive(F, TW_ARRIVAL_BACK, 0, 30, 0);
	if (cause == TW_ARRIVAL_BACK)
		tw_callstack_return(&stack, 200);
	arrive(MAIN, cause, 0, 20, 0);
	EQUAL(stack.n, 1);
	call(F, 200, 40);
	EQUAL(tw_callstack_top(&stack)->context.level, 0);
	work(10);
	tw_callstack_return(&stack, 200);
	IS(10, G, 1, 1);
	IS(40, F, 1, 10);
	EQUAL(table.n, 2);
	end();
}

/* Without references a return is matched by where it leads. */
static void test_returns_by_address(void)
{
	struct tw_call_place main_place = {.function = MAIN}, f_place = {.function = F, .entry = 1}, g_place = {.function = G, .entry = 1};
	struct tw_arrival call_back = {.cause = TW_ARRIVAL_CALL, .slot = UINT64_MAX, .back = 11}, back = {.cause = TW_ARRIVAL_RETURN};
	start();
	struct tw_call_site site = {tw_callstack_top(&stack)->context, 0, 10, NULL};
	EQUAL(tw_callstack_enter(&stack, &f_place, 0, 0x2000, &call_back, &site), 0);
	work(1);
	jump(G, 20);
	work(10);
	site = (struct tw_call_site){tw_callstack_top(&stack)->context, 0, 30, NULL};
	call_back.back = 31;
	EQUAL(tw_callstack_enter(&stack, &f_place, 0, 0x2000, &call_back, &site), 0);
	EQUAL(tw_callstack_top(&stack)->context.level, 1);
	work(100);
	EQUAL(tw_callstack_enter(&stack, &g_place, 0, 31, &back, &site), 0);
	EQUAL(stack.n, 3);
	work(1000);
	EQUAL(tw_callstack_enter(&stack, &main_place, 0, 11, &back, &site), 0);
	EQUAL(stack.n, 1);
	IS(10, F, 1, 1111);
	IS(20, G, 1, 1110);
	end();
}

/* MAIN calls an unrecorded function, which calls F twice; their return addresses are below that of MAIN's call. F calls G. */
static void test_in_parts(void)
{
	start();
	stack.in_parts = 1;
	call(F, 100, 10);
	for (uint64_t slot = 60; slot < 80; slot += 10) {
		work(1);
		call(G, slot - 20, 20);
		work(10);
		tw_callstack_return(&stack, slot - 20);
		EQUAL(tw_callstack_top(&stack)->context.function, F);
		tw_callstack_return(&stack, slot);
		EQUAL(tw_callstack_top(&stack)->context.function, MAIN);
		if (slot == 60)
			arrive(F, TW_ARRIVAL_BACK, 0, 30, 1);
	}
	arrive(MAIN, TW_ARRIVAL_BACK, 0, 30, 0);
	EQUAL(stack.n, 1);
	IS(10, F, 1, 11);
	IS(30, F, 1, 11);
	IS(20, G, 2, 20);
	end();
}

static void test_many_calls(void)
{
	start();
	for (uint64_t pc = 0; pc < 20000; pc++) {
		call(F, 100, pc);
		work(pc);
		tw_callstack_return(&stack, 100);
	}
	EQUAL(table.n, 20000);
	IS(19999, F, 1, 19999);
	IS(3, F, 1, 3);
	end();
}

int main(void)
{
	test_calls();
	test_recursion();
	test_tail_calls();
	test_stub();
	test_lazy_binding();
	test_longjmp();
	test_handler();
	test_leaving_a_handler();
	test_fork();
	test_unmatched_return();
	test_goes_on();
	test_returns_by_address();
	test_in_parts();
	test_many_calls();
	test_began_within(TW_ARRIVAL_BACK);
	test_began_within(TW_ARRIVAL_RETURN);
	return UNIT_END();
}
