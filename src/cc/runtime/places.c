/*
 * Functions where recording starts and stops (record --start, --stop): a jump to a *gate* is written into each before
 * the module's code runs. In a function in two versions, the jump replaces the test of the switch at the beginning
 * (cc/twice.h): the gate tells that the function is entered, and then tests the switch, which this may have changed.
 * In a function in one version, the jump replaces the instruction that stores the first block's tag: the gate takes
 * the path for a full buffer (cold.S), which returns the pointer to where records go from now on, and then stores the
 * tag.
 */
#include "parts.h"
#include <asm/unistd.h>
#include <elf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

enum { GATE_BYTES = 64, TEST_BYTES = 7 };
enum { START = 1, STOP = 2 };

static uint8_t gates[TW_PAGE] __attribute__((aligned(TW_PAGE)));
_Static_assert(TW_CC_GATES *GATE_BYTES <= TW_PAGE, "gates fit on their page");

void trackway_cc_place(void);

static const struct tw_where *where(const struct tw_cc_process *p, uint32_t side)
{
	return side == START ? &p->control->window.start : &p->control->window.stop;
}

/* ---- gates ---- */

static void put32(uint8_t **at, uint64_t v)
{
	const uint32_t low = (uint32_t)v;
	tw_cc_copy(*at, &low, sizeof low);
	*at += sizeof low;
}

static void put(uint8_t **at, const void *code, uint64_t n)
{
	tw_cc_copy(*at, code, n);
	*at += n;
}

/* Code at *at, then its target's distance from its end, which is `behind` bytes later. */
static void put_way(uint8_t **at, const char *code, uint64_t n, const void *to, uint64_t behind)
{
	put(at, code, n);
	put32(at, (uint64_t)to - ((uint64_t)*at + 4 + behind));
}

static void write_gate(uint8_t *gate, uint64_t sides, const uint8_t *test, const uint8_t *second)
{
	static const char rax[] = "\x48\xb8", lower[] = "\x48\x8d\x64\x24\x80\x50", raise[] = "\x58\x48\x8d\xa4\x24\x80\0\0\0";
	const uint8_t *behind = test + TEST_BYTES + (test[TEST_BYTES] == 0x75 ? 2 : 6);
	put(&gate, lower, sizeof lower - 1);
	put(&gate, rax, sizeof rax - 1);
	put(&gate, &sides, sizeof sides);
	put_way(&gate, "\xe8", 1, (const void *)trackway_cc_place, 0);
	put(&gate, raise, sizeof raise - 1);
	put_way(&gate, "\x80\x3d", 2, trackway_cc_switch, 1);
	put(&gate, "", 1);
	put_way(&gate, "\x0f\x85", 2, second, 0);
	put_way(&gate, "\xe9", 1, behind, 0);
}

static bool make_writable(const uint8_t *at, uint64_t n, bool writable)
{
	const uint64_t from = (uint64_t)at & ~(uint64_t)(TW_PAGE - 1), to = ((uint64_t)at + n + TW_PAGE - 1) & ~(uint64_t)(TW_PAGE - 1);
	return !tw_cc_failed(SYS(__NR_mprotect, from, to - from, PROT_READ | PROT_EXEC | (writable ? PROT_WRITE : 0)));
}

/* A jump to the gate over n bytes, 5 at least. */
static bool write_jump(const uint8_t *over, uint64_t n, const uint8_t *gate)
{
	uint8_t *at = (uint8_t *)(uint64_t)over;
	if (!make_writable(over, n, true))
		return false;
	put_way(&at, "\xe9", 1, gate, 0);
	for (uint64_t k = 5; k < n; k++)
		put(&at, "\x90", 1);
	return make_writable(over, n, false);
}

/* Functions in one version, and whether recording starts or stops there. */
static struct {
	uint64_t function, sides;
} gated[TW_CC_GATES];
static uint32_t n_gates;

/* ---- functions in two versions ---- */

static bool add_test(uint32_t sides, uint64_t function, uint8_t *gate)
{
	const uint8_t *test = (const uint8_t *)tw_cc_branch_test(function);
	if (!test)
		return false;
	const uint64_t second = tw_cc_branch_second(function);
	write_gate(gate, sides, test, (const uint8_t *)second);
	return write_jump(test, TEST_BYTES, gate);
}

/* ---- functions in one version ---- */

/* The block that begins at the function's start, and its part; NULL: none. */
static const struct tw_cc_block *find_block(uint64_t function, const struct tw_cc_part **part)
{
	for (*part = tw_cc_part_first(); *part; *part = tw_cc_part_next(*part)) {
		const struct tw_cc_block *block = tw_cc_block_first(*part);
		for (uint32_t n = 0; n < (*part)->n_blocks; n++, block = tw_cc_block_next(block))
			if ((uint64_t)tw_cc_place(&block->pc) - block->lead == function)
				return block;
	}
	return 0;
}

/* movw $tag,(reg), as it was assembled; returns its bytes. */
static uint64_t put_store(uint8_t *to, uint8_t reg, const uint8_t *tag)
{
	uint8_t *at = to;
	const uint8_t rex = 0x41, op = 0xc7, low = reg & 7, modrm = (uint8_t)(low | (low == TW_RBP ? 0x40 : 0));
	put(&at, "\x66", 1);
	put(&at, &rex, reg >= TW_R8);
	put(&at, &op, 1);
	put(&at, &modrm, 1);
	put(&at, "\x24", low == TW_RSP);
	put(&at, "\0", low == TW_RBP);
	put(&at, tag, 2);
	return (uint64_t)(at - to);
}

/* lea n(reg),reg */
static void put_move(uint8_t **at, uint8_t reg, uint8_t n)
{
	const uint8_t rex = reg >= TW_R8 ? 0x4d : 0x48, op = 0x8d, low = reg & 7, modrm = (uint8_t)(0x40 | low << 3 | low);
	put(at, &rex, 1);
	put(at, &op, 1);
	put(at, &modrm, 1);
	put(at, "\x24", low == TW_RSP);
	put(at, &n, 1);
}

/* pushq word(%rip); popq (reg); and past it: as for a full buffer (cc/pointer.c) */
static void put_upper(uint8_t **at, uint8_t reg, const struct tw_cc_part *part)
{
	const uint8_t low = reg & 7, modrm = (uint8_t)(low | (low == TW_RBP ? 0x40 : 0));
	put_way(at, "\xff\x35", 2, tw_cc_place(&part->word), 0);
	put(at, "\x41", reg >= TW_R8);
	put(at, "\x8f", 1);
	put(at, &modrm, 1);
	put(at, "\x24", low == TW_RSP);
	put(at, "\0", low == TW_RBP);
	put_move(at, reg, 4);
}

static bool add_store(uint32_t sides, uint64_t function, uint8_t *gate, tw_cc_way *const *ways)
{
	uint8_t store[16], *at = gate;
	const struct tw_cc_part *part;
	const struct tw_cc_block *b = find_block(function, &part);
	if (!b || b->reg >= TW_NREGS || b->reg == TW_RSP || b->offset)
		return false;
	const uint8_t *tag = tw_cc_place(&b->site);
	const uint64_t n = put_store(store, b->reg, tag);
	if (!tw_cc_same(tag + 2 - n, store, n))
		return false;
	put(&at, "\x48\x8d\x64\x24\x80", 5);
	if (b->spilled != TW_NOREG)
		put_move(&at, b->reg, TW_CC_BORROWED);
	put_way(&at, "\xe8", 1, (const void *)(uint64_t)ways[b->reg], 0);
	if (part->large)
		put_upper(&at, b->reg, part);
	put(&at, "\x48\x8d\xa4\x24\x80\0\0\0", 8);
	put(&at, store, n);
	put_way(&at, "\xe9", 1, tag + 2, 0);
	if (!write_jump(tag + 2 - n, n, gate))
		return false;
	gated[n_gates].function = function;
	gated[n_gates].sides = sides;
	return true;
}

static void add_place(struct tw_cc_process *p, uint32_t sides, uint64_t function, tw_cc_way *const *ways)
{
	uint8_t *gate = gates + n_gates * GATE_BYTES;
	if (n_gates == TW_CC_GATES || (!add_test(sides, function, gate) && !add_store(sides, function, gate, ways)))
		return;
	n_gates++;
	atomic_fetch_or(&p->control->window.found, sides);
}

/* ---- symbols ---- */

static bool is_same(const char *a, const char *b)
{
	const uint64_t n = tw_cc_length(a);
	if (n != tw_cc_length(b))
		return false;
	for (uint64_t k = 0; k < n; k++)
		if (a[k] != b[k])
			return false;
	return true;
}

/* Are these the sides that wait for a function of this name? */
static uint32_t sides_of(const struct tw_cc_process *p, uint32_t sides, const char *name)
{
	uint32_t of = 0;
	for (uint32_t side = START; side <= STOP; side <<= 1)
		of |= sides & side && is_same(name, where(p, side)->function) ? side : 0;
	return of;
}

/* All functions of one table with these names. base: what is added to addresses in the file. */
static void look_through(struct tw_cc_process *p, uint32_t sides, const uint8_t *file, const Elf64_Shdr *table, const Elf64_Shdr *strings,
                         uint64_t base, tw_cc_way *const *ways)
{
	const Elf64_Sym *symbol = (const Elf64_Sym *)(const void *)(file + table->sh_offset);
	for (uint64_t k = 0; k < table->sh_size / sizeof *symbol; k++) {
		if (ELF64_ST_TYPE(symbol[k].st_info) != STT_FUNC || !symbol[k].st_value || symbol[k].st_name >= strings->sh_size)
			continue;
		const uint32_t of = sides_of(p, sides, (const char *)file + strings->sh_offset + symbol[k].st_name);
		if (of)
			add_place(p, of, base + symbol[k].st_value, ways);
	}
}

/* Functions with several names, or in both tables, have their jump already the second time, and are skipped. */
static void look_up(struct tw_cc_process *p, uint32_t sides, const uint8_t *file, tw_cc_way *const *ways)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)file;
	const Elf64_Shdr *section = (const Elf64_Shdr *)(const void *)(file + h->e_shoff);
	for (uint32_t k = 0; k < h->e_shnum; k++)
		if (section[k].sh_type == SHT_SYMTAB || section[k].sh_type == SHT_DYNSYM)
			look_through(p, sides, file, &section[k], &section[section[k].sh_link],
			             h->e_type == ET_DYN ? (uint64_t)__ehdr_start : 0, ways);
}

/* ---- this module ---- */

static const char *base_name(const char *path)
{
	const char *name = path;
	for (; *path; path++)
		name = *path == '/' ? path + 1 : name;
	return name;
}

static bool starts_with(const char *s, const char *word)
{
	while (*word && *s == *word) {
		s++;
		word++;
	}
	return !*word;
}

/* As engine/record/window.c has it. */
static bool is_meant(const char *path, const char *module)
{
	const char *name = base_name(path);
	const uint64_t n = tw_cc_length(module);
	if (!n || is_same(path, module) || is_same(name, module))
		return true;
	return starts_with(name, module) && (starts_with(name + n, ".so") || (name[n] == '.' && n > 3 && is_same(module + n - 3, ".so")));
}

void tw_cc_places_find(struct tw_cc_process *p, tw_cc_way *const *ways)
{
	char path[TW_PROGRAM_PATH];
	uint32_t sides = 0;
	if (!tw_cc_maps_path((uint64_t)&tw_cc_places_find, path, sizeof path))
		return;
	for (uint32_t side = START; side <= STOP; side <<= 1)
		if (where(p, side)->kind == TW_WHERE_FUNCTION && where(p, side)->function[0] && is_meant(path, where(p, side)->module))
			sides |= side;
	const int64_t fd = sides ? SYS(__NR_open, path, O_RDONLY | O_CLOEXEC, 0) : -1;
	const int64_t bytes = tw_cc_failed(fd) ? 0 : SYS(__NR_lseek, fd, 0, 2);
	const int64_t file = bytes > 0 ? SYS(__NR_mmap, 0, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : -1;
	SYS(__NR_close, fd);
	if (tw_cc_failed(file))
		return;
	look_up(p, sides, (const uint8_t *)file, ways);
	SYS(__NR_munmap, file, bytes);
	SYS(__NR_mprotect, gates, sizeof gates, PROT_READ | PROT_EXEC);
}

/* ---- when they are entered ---- */

void tw_cc_at_place(uint64_t sides);

/* Called from gates of functions in two versions. */
void tw_cc_at_place(uint64_t sides)
{
	struct tw_control *c = ((struct tw_cc_process *)TW_CC_PLACE)->control;
	struct tw_window_control *w = &c->window;
	const uint32_t shut = atomic_load(&w->shut);
	if (!(sides & (shut ? START : STOP)) || atomic_load(&w->due) & 2)
		return;
	atomic_store(&w->shut, !shut);
	tw_version_switch_set(c, shut, TW_LEFT_OUT_WINDOW, tw_cc_time());
}

uint64_t tw_cc_places_passed(uint64_t to)
{
	const uint64_t n = (to - (uint64_t)gates) / GATE_BYTES;
	if (to < (uint64_t)gates || n >= n_gates || !gated[n].sides)
		return 0;
	tw_cc_at_place(gated[n].sides);
	return gated[n].function;
}
