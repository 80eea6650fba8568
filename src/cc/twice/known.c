/*
 * Code known from earlier runs (record --learn): functions in two versions that have nothing new to tell run their
 * first version although the switch is on.
 *
 * A function is *known* if its first block is known, and with each known block all blocks that surely run after it:
 * where it falls through, jumps, or where its call returns to. Everything else is reached by *turnings*
 * (base/cc_section.h): conditional branches, and the targets of indirect jumps and exceptions. Before the module's
 * code runs, the tests of the switch in known functions, in both versions, are changed to test the byte behind it:
 * TW_VERSION_KNOWN. Turnings that are not known are redirected to a *gate*. It tells the block and the way there
 * (LEARNED events), once, and goes on in the second version if the switch is on. The recorder then sets that byte for
 * a while, so that everything around is recorded as if nothing were known.
 *
 * If an indirect jump, call or return of known code leads to known code in a new way, and nothing else is new, it is
 * told only while that byte is set.
 */
#include "parts.h"
#include "base/told.h"
#include <asm/unistd.h>
#include <elf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

extern const uint8_t __start_trackway_cc_turnings[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __stop_trackway_cc_turnings[] __attribute__((weak, visibility("hidden")));

void trackway_cc_turned(void);

enum { JUMP_BYTES = 5, BRANCH_BYTES = 6, GATE_BYTES = 56 };
#define NEAR (1ull << 30)

/* A block, or where a function's second version begins, by address. */
struct place {
	uint64_t at;
	const void *of;
	uint32_t state; /* enum state */
	uint32_t unit;  /* of a block */
	uint64_t entry; /* of a block: from the first version; 0: there is none */
};

enum state { KNOWN = 1, TURNS = 2, MISSES = 4 };

/* A turning that leads to something that is not known. */
struct turning {
	uint64_t next;    /* the gate's target: its own code that tells, or where the program continues */
	uint64_t on;      /* that place */
	uint64_t records; /* the same in the second version; 0: it cannot be entered there */
	struct tw_learned told;
};

struct known {
	struct tw_cc_process *p;
	const Elf64_Phdr *code;
	uint64_t base; /* of addresses in the file */
	uint64_t module;
	const uint64_t *told; /* the table of base/told.h */
	struct place *block, *unit;
	uint32_t n_blocks, n_units, n_known;
};

/* Gates, and what they are for: one mapping. */
static struct {
	uint64_t at, bytes;
	uint8_t *next; /* code */
	struct turning *turning;
	uint32_t n;
} gates;

/* ---- facts ---- */

static struct tw_told_place told_place(const struct known *k, uint64_t address)
{
	const uint64_t from = address - k->base - k->code->p_vaddr;
	return (struct tw_told_place){from < k->code->p_filesz ? k->module : 0, from + k->code->p_offset};
}

static bool is_told(const struct known *k, struct tw_told_place at, uint64_t key)
{
	const uint64_t *table = k->told, n = k->p->control->sizes.claim_entries;
	for (uint32_t m = 0; at.module && m < TW_TOLD_PROBES; m++) {
		const uint64_t there = __atomic_load_n(&table[(tw_told_first(at) + m) % n], __ATOMIC_RELAXED);
		if (there == key || !there)
			return there != 0;
	}
	return false;
}

static uint32_t bytes_of(const struct tw_cc_block *b)
{
	const uint8_t *length = (const uint8_t *)(b + 1);
	uint32_t n = 0;
	for (uint32_t k = 0; k < b->n_insns; k++)
		n += length[k];
	return n;
}

static bool is_known_block(const struct known *k, const struct place *b)
{
	const struct tw_told_place at = told_place(k, b->at);
	return is_told(k, at, tw_told_block(at, bytes_of(b->of)));
}

static bool is_known_edge(const struct known *k, uint64_t from, const struct place *to)
{
	struct tw_told_place behind = told_place(k, from - 1);
	const struct tw_told_place at = told_place(k, to->at);
	behind.offset++;
	if (!(k->p->control->learn_what & TW_TELL_EDGES))
		return to->state & KNOWN;
	return at.module && is_told(k, behind, tw_told_edge(behind, at, false));
}

/* ---- blocks and functions by address ---- */

static void sink(struct place *of, uint32_t at, uint32_t n)
{
	const struct place own = of[at];
	for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
		child += child + 1 < n && of[child + 1].at > of[child].at;
		if (of[child].at <= own.at)
			break;
		of[at] = of[child];
		of[child] = own;
	}
}

static void sort(struct place *of, uint32_t n)
{
	for (uint32_t k = n / 2; k-- > 0;)
		sink(of, k, n);
	while (n > 1) {
		const struct place last = of[--n];
		of[n] = of[0];
		of[0] = last;
		sink(of, 0, n);
	}
}

/* How many begin at or before this. */
static uint32_t until(const struct place *of, uint32_t n, uint64_t at)
{
	uint32_t from = 0;
	while (from < n) {
		const uint32_t half = from + (n - from) / 2;
		if (of[half].at <= at)
			from = half + 1;
		else
			n = half;
	}
	return from;
}

/* The block that begins there; inserted code may precede its first instruction. NULL: none. */
static struct place *block_at(const struct known *k, uint64_t at)
{
	const uint32_t n = until(k->block, k->n_blocks, at);
	struct place *same = n && k->block[n - 1].at == at ? &k->block[n - 1] : 0, *next = n < k->n_blocks ? &k->block[n] : 0;
	return same ? same : next && next->at - ((const struct tw_cc_block *)next->of)->lead <= at ? next : 0;
}

/* Adds each block to those present; counts them if there are none yet. */
static void find_blocks(struct known *k)
{
	uint32_t n = 0;
	for (const struct tw_cc_part *part = tw_cc_part_first(); part; part = tw_cc_part_next(part)) {
		const struct tw_cc_block *block = tw_cc_block_first(part);
		for (uint32_t m = 0; m < part->n_blocks; m++, n++, block = tw_cc_block_next(block))
			if (k->block)
				k->block[n] = (struct place){.at = (uint64_t)tw_cc_place(&block->pc), .of = block};
	}
	k->n_blocks = n;
}

/* The next of this kind in the section, from *at on. */
static const void *next_entry(const uint8_t **at, uint32_t kind)
{
	while (*at + sizeof(struct tw_cc_way_in) <= __stop_trackway_cc_turnings) {
		const struct tw_cc_turnings *u = (const struct tw_cc_turnings *)(const void *)*at;
		const bool is_entry = u->magic == TW_CC_TURNINGS_MAGIC || u->magic == TW_CC_WAY_IN_MAGIC;
		*at += is_entry ? u->bytes : 1; /* or what the linker puts between */
		if (u->magic == kind)
			return u;
	}
	return 0;
}

static const struct tw_cc_turnings *next_unit(const uint8_t **at)
{
	return next_entry(at, TW_CC_TURNINGS_MAGIC);
}

static void find_ways_in(const struct known *k)
{
	const uint8_t *at = __start_trackway_cc_turnings;
	for (const struct tw_cc_way_in *w; (w = next_entry(&at, TW_CC_WAY_IN_MAGIC));) {
		struct place *b = block_at(k, (uint64_t)tw_cc_place(&w->pc));
		if (b)
			b->entry = (uint64_t)tw_cc_place(&w->entry);
	}
}

/* With the parts that were split off. */
static void find_units(struct known *k)
{
	const uint8_t *at = __start_trackway_cc_turnings;
	uint32_t n = 0;
	for (const struct tw_cc_turnings *u; (u = next_unit(&at)); n += u->cold ? 2 : 1) {
		if (!k->unit)
			continue;
		k->unit[n] = (struct place){.at = (uint64_t)tw_cc_place(&u->second), .of = u};
		if (u->cold)
			k->unit[n + 1] = (struct place){.at = (uint64_t)tw_cc_place(&u->cold), .of = u};
	}
	k->n_units = n;
}

/* The place of the function itself, not that of its part. */
static struct place *own_place(const struct known *k, const struct tw_cc_turnings *u)
{
	return &k->unit[until(k->unit, k->n_units, (uint64_t)tw_cc_place(&u->second)) - 1];
}

/* ---- what is known ---- */

static void look_at_blocks(struct known *k)
{
	for (uint32_t n = 0; n < k->n_blocks; n++) {
		struct place *b = &k->block[n];
		const uint32_t u = until(k->unit, k->n_units, b->at);
		b->unit = u ? (uint32_t)(own_place(k, k->unit[u - 1].of) - k->unit) : k->n_units;
		b->state = is_known_block(k, b) ? KNOWN : 0;
		k->n_known += b->state & KNOWN;
	}
}

static const int32_t *tests_of(const struct tw_cc_turnings *u)
{
	return (const int32_t *)(const void *)(u + 1);
}
static const int32_t *branches_of(const struct tw_cc_turnings *u)
{
	return tests_of(u) + u->n_tests;
}
static const int32_t *rooms_of(const struct tw_cc_turnings *u)
{
	return branches_of(u) + 2 * (uint64_t)u->n_branches;
}

/*
 * The second version's block that ends with this entry's branch; NULL: it cannot be told, or the first version's
 * branch has another form.
 */
static struct place *block_of_branch(const struct known *k, const int32_t *branch)
{
	const uint8_t *first = tw_cc_place(branch);
	const uint32_t n = until(k->block, k->n_blocks, (uint64_t)tw_cc_place(branch + 1) - 1);
	struct place *b = n ? &k->block[n - 1] : 0;
	const bool is_long = first[0] == 0x0f && (first[1] & 0xf0) == 0x80;
	return b && is_long && ((const struct tw_cc_block *)b->of)->end == TW_END_COND ? b : 0;
}

static void look_at_branches(struct known *k)
{
	const uint8_t *at = __start_trackway_cc_turnings;
	for (const struct tw_cc_turnings *u; (u = next_unit(&at));)
		for (uint32_t n = 0; n < u->n_branches; n++) {
			struct place *b = block_of_branch(k, branches_of(u) + 2 * (uint64_t)n);
			if (b)
				b->state |= TURNS;
		}
}

/* The target, in the module, of the direct branch that ends the block; NULL: outside. */
static const struct place *target_of(const struct known *k, const struct place *b)
{
	const struct tw_cc_block *own = b->of;
	const uint8_t last = ((const uint8_t *)(own + 1))[own->n_insns - 1];
	const uint64_t to =
	    own->target ? (uint64_t)tw_cc_place(&own->target) : tw_cc_branch_target((const uint8_t *)b->at + bytes_of(own) - last);
	return block_at(k, tw_cc_branch_second(to));
}

/* Is a block that surely runs after a known block of the function missing? If a block calls what never returns, it is. */
static bool misses(const struct known *k, const struct place *b)
{
	const struct tw_cc_block *own = b->of;
	const uint64_t end = b->at + bytes_of(own);
	const struct place *behind = block_at(k, end), *to;
	switch (own->end) {
	case TW_END_RETURN:
	case TW_END_IJUMP:
		return false;
	case TW_END_JUMP:
		to = own->target ? block_at(k, (uint64_t)tw_cc_place(&own->target)) : 0;
		return to && !is_known_edge(k, end, to);
	case TW_END_COND:
		to = target_of(k, b);
		return !(b->state & TURNS) && (!behind || !to || !is_known_edge(k, end, behind) || !is_known_edge(k, end, to));
	default:
		return behind && behind->unit == b->unit && !(behind->state & KNOWN);
	}
}

static void look_at_units(struct known *k)
{
	for (uint32_t n = 0; n < k->n_units; n++) {
		const struct place *first = block_at(k, k->unit[n].at);
		k->unit[n].state = first && first->state & KNOWN ? KNOWN : 0;
	}
	for (uint32_t n = 0; n < k->n_blocks; n++) {
		const struct place *b = &k->block[n];
		if (b->state & KNOWN && b->unit < k->n_units && misses(k, b))
			k->unit[b->unit].state |= MISSES;
	}
}

/* ---- gates ---- */

static void put(uint8_t **at, const void *code, uint64_t n)
{
	tw_cc_copy(*at, code, n);
	*at += n;
}

static void put32(uint8_t **at, uint64_t v)
{
	const uint32_t low = (uint32_t)v;
	put(at, &low, sizeof low);
}

static void put_way(uint8_t **at, const char *code, uint64_t n, uint64_t to)
{
	put(at, code, n);
	put32(at, to - ((uint64_t)*at + 4));
}

/* Makes a gate that continues at `on`, and the first time tells this way to the block. Returns its place. */
static uint64_t put_gate(uint64_t on, const struct place *to, uint64_t from)
{
	const struct tw_learned told = {to->at, to->state & KNOWN ? 0 : bytes_of(to->of), TW_END_COND, from};
	const uint64_t gate = (uint64_t)gates.next;
	struct turning *t = &gates.turning[gates.n];
	put_way(&gates.next, "\xff\x25", 2, (uint64_t)&t->next);
	*t = (struct turning){(uint64_t)gates.next, on, to->entry, told};
	put(&gates.next, "\x48\x8d\x64\x24\x80\x50\xb8", 7); /* lea -128(%rsp),%rsp; push %rax; mov $n,%eax */
	put32(&gates.next, gates.n);
	put_way(&gates.next, "\xe8", 1, (uint64_t)trackway_cc_turned);
	for (int k = 0; k < 2; k++) { /* pop %rax; lea 128(%rsp),%rsp; and on, in the first and the second version */
		put(&gates.next, "\x58\x48\x8d\xa4\x24\x80\0\0\0", 9);
		put_way(&gates.next, "\xe9", 1, k && to->entry ? to->entry : on);
	}
	gates.n++;
	return gate;
}

/*
 * Redirects the unknown sides of the branch at `first` to gates. The fall-through side goes by way of another branch,
 * which stands among the gates.
 */
static void turn_branch(const struct known *k, uint8_t *first, const struct place *b)
{
	const uint64_t end = b->at + bytes_of(b->of), behind = (uint64_t)first + BRANCH_BYTES;
	const struct place *fall = block_at(k, end), *to = target_of(k, b);
	uint64_t taken = tw_cc_branch_target(first);
	uint8_t *at = first + 2;
	if (to && !is_known_edge(k, end, to)) {
		taken = put_gate(taken, to, end);
		put32(&at, taken - behind);
	}
	if (fall && !is_known_edge(k, end, fall)) {
		const uint64_t branch = (uint64_t)gates.next;
		put(&gates.next, first, 2);
		put32(&gates.next, taken - ((uint64_t)gates.next + 4));
		put_gate(behind, fall, end);
		at = first;
		put_way(&at, "\xe9", 1, branch);
	}
}

static void turn_room(const struct known *k, uint8_t *first, uint64_t second)
{
	static const uint8_t room[] = {TW_CC_ROOM_BYTES};
	const struct place *to = block_at(k, second);
	uint8_t *at = first;
	if (!to || to->state & KNOWN || !tw_cc_same(first, room, sizeof room))
		return;
	const uint64_t gate = put_gate((uint64_t)first + JUMP_BYTES, to, 0);
	put_way(&at, "\xe9", 1, gate);
}

/* If there is a test, it reads the byte behind the switch from now on. */
static bool turn_test(uint8_t *test)
{
	uint8_t *at = test + 2;
	if (test[0] != 0x80 || test[1] != 0x3d || test[6] || test + 7 + tw_cc_signed32(at) != trackway_cc_switch)
		return false;
	put32(&at, (uint64_t)(int64_t)tw_cc_signed32(at) + TW_VERSION_KNOWN);
	return true;
}

static void turn_unit(const struct known *k, const struct tw_cc_turnings *u)
{
	for (uint32_t n = 0; n < u->n_tests; n++) {
		uint8_t *test = (uint8_t *)(uint64_t)tw_cc_place(tests_of(u) + n);
		if (!turn_test(test))
			continue;
		/* A loop's branch leads to a jump, and that to the test in the second version. */
		const uint8_t *to = (const uint8_t *)tw_cc_branch_target(test + 7);
		if (*to == 0xe9 || *to == 0xeb)
			turn_test((uint8_t *)tw_cc_branch_target(to));
	}
	for (uint32_t n = 0; n < u->n_branches; n++) {
		const int32_t *branch = branches_of(u) + 2 * (uint64_t)n;
		const struct place *b = block_of_branch(k, branch);
		if (b)
			turn_branch(k, (uint8_t *)(uint64_t)tw_cc_place(branch), b);
	}
	for (uint32_t n = 0; n < u->n_rooms; n++) {
		const int32_t *room = rooms_of(u) + 2 * (uint64_t)n;
		turn_room(k, (uint8_t *)(uint64_t)tw_cc_place(room), (uint64_t)tw_cc_place(room + 1));
	}
}

/* How many gates there may be. */
static uint64_t count_turnings(const struct known *k)
{
	uint64_t n = 0;
	for (uint32_t m = 0; m < k->n_units; m++) {
		const struct tw_cc_turnings *u = k->unit[m].of;
		n += k->unit[m].state == KNOWN ? 2ull * u->n_branches + u->n_rooms : 0;
	}
	return n;
}

/* Gates must be near the code. */
static bool map_gates(const struct known *k, uint64_t n)
{
	const uint64_t code = (k->base + k->code->p_vaddr) & ~(uint64_t)(TW_PAGE - 1), step = NEAR / 64;
	const uint64_t gate_bytes = (n * GATE_BYTES + TW_PAGE - 1) & ~(uint64_t)(TW_PAGE - 1);
	gates.bytes = gate_bytes + n * sizeof *gates.turning;
	for (uint64_t m = 0; m < 128 && gates.bytes < step; m++) {
		const uint64_t far = NEAR / 2 + m / 2 * step,
		               at = m % 2 && code > far ? code - far : code + k->code->p_memsz / TW_PAGE * TW_PAGE + far;
		const int64_t got = SYS(__NR_mmap, at, gates.bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
		                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
		if (tw_cc_failed(got))
			continue;
		if ((uint64_t)got == at) {
			gates.at = at;
			gates.next = (uint8_t *)at;
			gates.turning = (struct turning *)(at + gate_bytes);
			return true;
		}
		SYS(__NR_munmap, got, gates.bytes); /* a kernel that takes the address for a wish */
	}
	return false;
}

static bool protect(const struct known *k, int how)
{
	const uint64_t from = (k->base + k->code->p_vaddr) & ~(uint64_t)(TW_PAGE - 1);
	return !tw_cc_failed(SYS(__NR_mprotect, from, k->base + k->code->p_vaddr + k->code->p_memsz - from, how));
}

static void turn_all(const struct known *k)
{
	const uint64_t n = count_turnings(k);
	if (!map_gates(k, n + 1) || !protect(k, PROT_READ | PROT_WRITE | PROT_EXEC))
		return;
	for (uint32_t m = 0; m < k->n_units; m++) {
		const struct tw_cc_turnings *u = k->unit[m].of;
		if (k->unit[m].state == KNOWN && k->unit[m].at == (uint64_t)tw_cc_place(&u->second))
			turn_unit(k, u);
	}
	protect(k, PROT_READ | PROT_EXEC);
}

/* ---- the module ---- */

/* The only segment with its blocks; NULL: none, or the start of the file is unknown. */
static const Elf64_Phdr *find_code(uint64_t *base)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)__ehdr_start;
	if (!h || h->e_ident[0] != ELFMAG0 || h->e_ident[1] != ELFMAG1)
		return 0;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(const void *)(__ehdr_start + h->e_phoff), *found = 0;
	for (uint32_t k = 0; k < h->e_phnum; k++) {
		if (p[k].p_type == PT_LOAD && p[k].p_flags & PF_X) {
			if (found || p[k].p_flags & PF_W)
				return 0;
			found = &p[k];
		}
		if (p[k].p_type == PT_LOAD && !p[k].p_offset)
			*base = (uint64_t)h - p[k].p_vaddr;
	}
	return found;
}

static void find_among(struct known *k)
{
	const uint64_t bytes = ((uint64_t)k->n_blocks + k->n_units) * sizeof(struct place);
	const int64_t at = SYS(__NR_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (tw_cc_failed(at))
		return;
	k->block = (struct place *)at;
	k->unit = k->block + k->n_blocks;
	find_blocks(k);
	find_units(k);
	sort(k->block, k->n_blocks);
	sort(k->unit, k->n_units);
	look_at_blocks(k);
	if (k->n_known) {
		find_ways_in(k);
		look_at_branches(k);
		look_at_units(k);
		turn_all(k);
	}
	SYS(__NR_munmap, at, bytes);
}

/* With the table mapped. */
static void find_known(struct known *k)
{
	const struct tw_sizes *sizes = &k->p->control->sizes;
	const uint64_t from = sizes->claims_at & ~(uint64_t)(TW_PAGE - 1), bytes = sizes->slots_at - from;
	const int64_t fd = SYS(__NR_open, k->p->path, O_RDONLY | O_CLOEXEC, 0),
	              at = SYS(__NR_mmap, 0, bytes, PROT_READ, MAP_SHARED, fd, from);
	SYS(__NR_close, fd);
	if (tw_cc_failed(at))
		return;
	k->told = (const uint64_t *)((uint64_t)at + sizes->claims_at - from);
	find_among(k);
	SYS(__NR_munmap, at, bytes);
}

static void enter(struct tw_cc_process *p)
{
	struct known k = {.p = p};
	char path[TW_PROGRAM_PATH];
	const struct tw_window_control *w = &p->control->window;
	if (p->batch || !(p->control->flags & TW_FLAG_LEARN) || w->start.kind || w->stop.kind)
		return;
	k.code = find_code(&k.base);
	find_blocks(&k);
	find_units(&k);
	if (!k.code || !k.n_units || !tw_cc_maps_path((uint64_t)&enter, path, sizeof path))
		return;
	k.module = tw_told_module(path);
	find_known(&k);
}

static void leave(void)
{
	if (gates.at)
		SYS(__NR_munmap, gates.at, gates.bytes);
	gates.at = 0;
}

const struct tw_cc_known_code trackway_cc_known = {enter, leave};

/* ---- when a turning is taken ---- */

void tw_cc_turned(uint64_t *regs);

/* No code that follows tests whether the buffer is full, so this does. */
static void tell(struct tw_cc_process *p, struct tw_cc_stream *s, const struct tw_learned *told, const uint64_t *regs)
{
	uint64_t *pen = tw_cc_pointer_pen(p, s);
	*pen = tw_cc_event(*pen, TW_EVENT_LEARNED, told, sizeof *told, 0, 0);
	if (s->pen && s->pen & TW_CC_FULL)
		tw_cc_buffer_turn(p, s);
	else if (!s->pen && s->pointer & TW_CC_FULL)
		s->pointer = tw_cc_stream_switch(p, s, s->pointer, regs);
}

/* What the calling thread writes that somebody reads; NULL: nothing. */
static struct tw_cc_stream *recorded_stream(struct tw_cc_process *p)
{
	struct tw_cc_stream *s = p->mode == TW_CC_RECORDED ? tw_cc_begin(p, tw_cc_self(p)) : 0;
	return s && s->number != TW_SLOTS ? s : 0;
}

/* Recording continues in the second version at `pc`, with these registers and the pointer in the slot. */
static void go_over(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pc, const uint64_t *regs)
{
	tw_cc_stream_enter(p, s, pc);
	tw_cc_pointer_take(p, s);
	if (!s->pen)
		s->pointer = tw_cc_buffer_keyframe(p, s, s->pointer, regs);
	trackway_cc_slot = tw_cc_cold(TW_CC_POISON, regs);
}

/* Registers as at the gate, except rax, which has the turning's number, and rsp. */
void tw_cc_turned(uint64_t *regs)
{
	enum {
		BACK = 17,
		RAX = 18,
		SECOND = 14
	}; /* the return address, behind the flags; what the gate has saved; the offset to where the second version continues */
	struct tw_cc_process *p = tw_cc_process();
	struct turning *t = &gates.turning[regs[TW_RAX]];
	struct tw_cc_stream *s = recorded_stream(p);
	if (__atomic_exchange_n(&t->next, t->on, __ATOMIC_RELAXED) == t->on || !s)
		return;
	regs[TW_RAX] = regs[RAX];
	regs[TW_RSP] += sizeof regs[RAX];
	tw_version_switch_found(p->control, tw_cc_time());
	tell(p, s, &t->told, regs);
	tw_cc_buffer_ring(p);
	if (!t->records || !atomic_load(&tw_channel_switch(p->control)->on))
		return;
	go_over(p, s, t->told.pc, regs);
	regs[BACK] += SECOND;
}

/* ---- where second versions are entered ---- */

void tw_cc_entered(uint64_t pc);

/* A second version is entered at pc, and the switch's number has changed since this thread last entered one. */
void tw_cc_entered(uint64_t pc)
{
	struct tw_cc_process *p = tw_cc_process();
	struct tw_cc_stream *s = recorded_stream(p);
	if (s && p->switchable)
		tw_cc_stream_enter(p, s, pc);
}
