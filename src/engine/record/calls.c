#include "engine/record/calls.h"
#include "engine/record/buffer.h"
#include "engine/record/instrumentor.h"
#include "engine/record/symbols.h"
#include "engine/record/window.h"
#include "engine/record/log.h"
#include <linux/mman.h>
#include <trackway/called.h>

#define NAME_BITS   9
#define MAX_NAMES   320u
#define MAX_FOUND   512u /* functions of one file */
#define PLACE_BITS  18   /* room for places: 4 MB, of which only the used pages take memory */
#define MAX_PLACES  (1u << 17)
#define RETURN_HERE UINT32_MAX
#define GONE        (UINT32_MAX - 1)
#define EXPECTED    (UINT32_MAX - 2) /* behind a call made by another process: becomes RETURN_HERE with this process's first call */
#define MAX_RETURNS 4096u            /* that are handed on with a snapshot */

_Static_assert(TW_NCALLED + 64 < MAX_NAMES && MAX_NAMES < 1u << NAME_BITS, "the table of names has room");

struct name {
	const char *text;
	u32 bytes;
};

struct place {
	u64 pc;       /* 0: free */
	u32 function; /* its number, RETURN_HERE, GONE or EXPECTED */
	u32 reserved;
};

static struct {
	struct name names[MAX_NAMES]; /* by number */
	u32 n_names;
	u32 stores;                   /* the function that stores its result where its first argument says */
	u8 list[MAX_NAMES];           /* by number: enum tw_called_list */
	u16 by_name[1u << NAME_BITS]; /* open hash of numbers + 1 */
	struct place *places;         /* open hash; NULL: calls are not told */
	u32 n_places;
	u64 returns[MAX_RETURNS];
	u32 n_returns;
	u64 first, last; /* functions begin in between */
} c = {.first = UINT64_MAX};

#define NAME_OF(name, kind) {name, sizeof(name) - 1},
static const struct name known[] = {TW_CALLED(NAME_OF)};

#define LIST_OF(name, list) {{name, sizeof(name) - 1}, TW_CALLED_LIST_##list},
static const struct {
	struct name name;
	u8 list;
} lists[] = {TW_CALLED_LISTS(LIST_OF)};

/* ---- names ---- */

static u32 hash_name(const char *name, u32 bytes)
{
	u64 h = 0;
	for (u32 i = 0; i < bytes; i++)
		h = (h ^ (u8)name[i]) * 0x100000001b3ull;
	return tw_hash(h, NAME_BITS);
}

/* The slot of a name, or the free one for it. */
static u16 *find_name(const char *name, u32 bytes)
{
	u32 i = hash_name(name, bytes);
	for (; c.by_name[i]; i = (i + 1) & ((1u << NAME_BITS) - 1)) {
		const struct name *n = &c.names[c.by_name[i] - 1];
		if (n->bytes == bytes && !memcmp(n->text, name, bytes))
			break;
	}
	return &c.by_name[i];
}

/* Gives each name its number. If two are equal, the first is found. */
static void add_name(const char *name, u32 bytes)
{
	if (c.n_names == MAX_NAMES)
		return;
	u16 *slot = find_name(name, bytes);
	c.names[c.n_names++] = (struct name){name, bytes};
	if (!*slot)
		*slot = (u16)c.n_names;
}

static void add_given(const char *text)
{
	while (*text) {
		u32 n = 0;
		while (text[n] && text[n] != ',')
			n++;
		add_name(text, n);
		text += n + (text[n] == ',');
	}
}

void tw_calls_init(void)
{
	if (!(tw_engine.control->flags & TW_FLAG_CALLS) || !tw_recorder.whole->records)
		return;
	const i64 at =
	    tw_mmap(0, sizeof(struct place) << PLACE_BITS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (tw_failed(at)) {
		tw_engine_fail(TW_FAILURE_CHANNEL, "no memory to know called functions by");
		return;
	}
	c.places = (struct place *)at;
	for (u32 i = 0; i < TW_NCALLED; i++)
		add_name(known[i].text, known[i].bytes);
	c.stores = *find_name("posix_memalign", sizeof "posix_memalign" - 1) - 1u;
	for (u32 i = 0; i < sizeof lists / sizeof *lists; i++)
		c.list[*find_name(lists[i].name.text, lists[i].name.bytes) - 1u] = lists[i].list;
	add_given(tw_engine.control->calls);
}

/* ---- places ---- */

static struct place *find_place(u64 pc)
{
	u32 i = tw_hash(pc, PLACE_BITS);
	while (c.places[i].pc && c.places[i].pc != pc)
		i = (i + 1) & ((1u << PLACE_BITS) - 1);
	return &c.places[i];
}

/* A function may begin where a call returned to. False: no room. */
static bool add_place(u64 pc, u32 function)
{
	struct place *p = find_place(pc);
	if (!p->pc && c.n_places == MAX_PLACES)
		return false;
	c.n_places += !p->pc;
	*p = (struct place){pc, function, 0};
	return true;
}

static const struct place *place_at(u64 pc)
{
	const struct place *p = c.places ? find_place(pc) : NULL;
	return p && p->pc && p->function != GONE ? p : NULL;
}

/* A call returns there, or is expected to. False: it was a place already, or there is no room. */
static bool add_return(u64 pc, u32 how)
{
	struct place *p = find_place(pc);
	const bool was_place = p->pc && p->function != GONE;
	if (was_place && p->function == EXPECTED)
		p->function = how;
	if (was_place || !add_place(pc, how))
		return false;
	if (c.n_returns < MAX_RETURNS)
		c.returns[c.n_returns++] = pc;
	return true;
}

u32 tw_calls_returns(const u64 **places)
{
	*places = c.returns;
	return c.n_returns;
}

void tw_calls_expect(const u64 *places, u32 n)
{
	for (u32 k = 0; c.places && k < n; k++)
		add_return(places[k], EXPECTED);
}

static void add_function(u64 pc, u32 number)
{
	const struct place *p = find_place(pc);
	if ((p->pc && p->function < EXPECTED) || !add_place(pc, number))
		return;
	c.first = pc < c.first ? pc : c.first;
	c.last = pc > c.last ? pc : c.last;
}

/* Its number plus 1; 0: not looked for. The name may end with a version (@). */
static u32 number_of(const char *name, u32 bytes)
{
	for (u32 i = 0; i < bytes; i++)
		if (name[i] == '@')
			bytes = i;
	return *find_name(name, bytes);
}

void tw_calls_mapped(const char *path, u64 address, u64 length, u64 offset)
{
	static struct tw_symbol found[MAX_FOUND]; /* a process maps one file at a time: see tw_engine.lock below */
	if (!c.places || path[0] != '/')
		return;
	tw_lock(&tw_engine.lock);
	const u32 n = tw_symbols_match(path, number_of, found, MAX_FOUND);
	for (u32 i = 0; i < n; i++)
		if (found[i].offset >= offset && found[i].offset - offset < length)
			add_function(address + found[i].offset - offset, found[i].number - 1);
	tw_unlock(&tw_engine.lock);
}

void tw_calls_unmapped(u64 start, u64 end)
{
	if (!c.places || start > c.last || end <= c.first)
		return;
	for (u32 i = 0; i < 1u << PLACE_BITS; i++)
		if (c.places[i].pc >= start && c.places[i].pc < end && c.places[i].function < EXPECTED)
			c.places[i].function = GONE;
}

bool tw_calls_stops_at(u64 pc)
{
	return tw_window_stops_at(pc) || place_at(pc);
}

/* ---- telling ---- */

/* So many bytes of a list are to be told. */
static u32 list_bytes(u64 words)
{
	return (u32)(words < TW_CALLED_LIST_WORDS ? words : TW_CALLED_LIST_WORDS) * (u32)sizeof(u64);
}

static u32 copy_list(u64 *to, u64 at, u64 words)
{
	return tw_copy(to, (const void *)at, list_bytes(words)) ? list_bytes(words) : 0;
}

static u32 copy_depends(u64 *to, u64 at)
{
	unsigned long n[2];
	return tw_copy(n, (const void *)at, sizeof n) && n[0] <= UINT32_MAX && n[1] <= UINT32_MAX ? copy_list(to, at, tw_called_depends(n))
	                                                                                          : 0;
}

/* Copies the list that the function receives as an argument, if it has one. Returns its bytes. */
static u32 put_list(u64 *to, const struct tw_called *e)
{
	struct {
		u64 at, n;
	} pieces;
	switch (c.list[e->function]) {
	case TW_CALLED_LIST_PIECES:
		return e->args[2] <= UINT16_MAX ? copy_list(to, e->args[1], 2 * e->args[2]) : 0;
	case TW_CALLED_LIST_MESSAGE:
		if (!tw_copy(&pieces, (const void *)(e->args[1] + 16), sizeof pieces) || pieces.n > UINT16_MAX)
			return 0;
		return copy_list(to, pieces.at, 2 * pieces.n);
	case TW_CALLED_LIST_TASK:
		return e->args[6] & TW_CALLED_TASK_DEPENDS ? copy_depends(to, e->args[7]) : 0;
	case TW_CALLED_LIST_TARGET:
		return e->args[7] ? copy_depends(to, e->args[7]) : 0;
	case TW_CALLED_LIST_DEPENDS:
		return copy_depends(to, e->args[0]);
	default:
		return 0;
	}
}

/* Returns as tw_calls_look. */
static u64 tell_call(struct thread *t, u32 function)
{
	const u64 *r = t->regs;
	struct tw_called e = {
	    .pc = t->pc, .sp = r[TW_RSP], .args = {r[TW_RDI], r[TW_RSI], r[TW_RDX], r[TW_RCX], r[TW_R8], r[TW_R9]}, .function = function};
	if (!tw_copy(&e.back, (const void *)e.sp, sizeof e.back))
		return 0;                                                                /* its first push will fault, too */
	tw_copy(&e.args[6], (const void *)(e.sp + sizeof e.back), 2 * sizeof e.args[0]); /* at a stack's end there are none */
	if (function == c.stores) {
		t->record->stores_at = e.args[0];
		t->record->stores_sp = e.sp;
	}
	u64 list[TW_CALLED_LIST_WORDS];
	const u32 n = put_list(list, &e);
	e.tsc = tw_buffer_time(t);
	tw_buffer_event(t, TW_EVENT_CALL, &e, sizeof e, list, n);
	return add_return(e.back, RETURN_HERE) ? e.back : 0;
}

static void tell_return(struct thread *t)
{
	struct tw_returned e = {.pc = t->pc, .sp = t->regs[TW_RSP], .result = t->regs[TW_RAX]};
	if (t->record->stores_at && t->record->stores_sp + sizeof(u64) == e.sp) {
		tw_copy(&e.stored, (const void *)t->record->stores_at, sizeof e.stored);
		t->record->stores_at = 0;
	}
	e.tsc = tw_buffer_time(t);
	tw_buffer_event(t, TW_EVENT_RETURN, &e, sizeof e, NULL, 0);
}

u64 tw_calls_look(struct thread *t)
{
	const struct place *p = place_at(t->pc);
	if (!p || p->function == EXPECTED || t->record->told_closed)
		return 0;
	tw_log_flush(t);
	if (p->function != RETURN_HERE)
		return tell_call(t, p->function);
	tell_return(t);
	return 0;
}
