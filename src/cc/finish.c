#include "cc/finish.h"
#include "cc/early.h"
#include "cc/linked.h"
#include "cc/plain.h"
#include "base/cc_section.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* ---- parts ---- */

struct numbering {
	const struct tw_cc_linked *file;
	const Elf64_Shdr *section;
	uint32_t tag, group; /* the next block's */
	uint64_t word;       /* of the file that the part before is of */
	int all_large;
};

static uint8_t *bytes_at(const struct numbering *n, uint64_t at)
{
	return n->file->at + n->section->sh_offset + at;
}

static uint64_t word_of(const struct numbering *n, uint64_t at, const struct tw_cc_part *part)
{
	return n->section->sh_addr + at + offsetof(struct tw_cc_part, word) + (uint64_t)(int64_t)part->word;
}

/* Number of blocks of the parts from here on that belong to the same file. */
static uint32_t blocks_of_file(const struct numbering *n, uint64_t at)
{
	struct tw_cc_part part;
	uint64_t word = 0;
	uint32_t blocks = 0;
	while (tw_cc_linked_part(n->file, n->section, &at, &part) && tw_cc_linked_is_sound(n->section, at, &part) &&
	       (!word || word_of(n, at, &part) == word)) {
		word = word_of(n, at, &part);
		blocks += part.n_blocks;
		at += part.bytes;
	}
	return blocks;
}

/* Blocks of one file are of one group. */
static const char *enter_file(struct numbering *n, uint64_t at, const struct tw_cc_part *part)
{
	const uint32_t blocks = blocks_of_file(n, at);
	n->word = word_of(n, at, part);
	if (blocks > TW_CC_MOST_BLOCKS)
		return "one of its files has more than 65520 instrumented blocks; instrument less of it (--only, --not)";
	if (n->tag + blocks > TW_CC_MOST_TAGS) {
		n->group++;
		n->tag = TW_TAG_FIRST;
	}
	return NULL;
}

static const char *number_blocks(struct numbering *n, uint64_t at, const struct tw_cc_part *part)
{
	uint64_t block = at + sizeof *part;
	for (uint32_t k = 0; k < part->n_blocks; k++) {
		struct tw_cc_block b;
		if (block + sizeof b > n->section->sh_size)
			return "its description of blocks is damaged";
		memcpy(&b, bytes_at(n, block), sizeof b);
		const uint16_t own = (uint16_t)n->tag++;
		uint8_t *site = tw_cc_linked_at(
		    n->file, n->section->sh_addr + block + offsetof(struct tw_cc_block, site) + (uint64_t)(int64_t)b.site, sizeof own);
		if (!site || !b.bytes)
			return "its description of blocks does not match its code";
		memcpy(site, &own, sizeof own);
		block += b.bytes;
	}
	return NULL;
}

static const char *finish_part(struct numbering *n, uint64_t at, struct tw_cc_part *part)
{
	const char *why = NULL;
	if (!tw_cc_linked_is_sound(n->section, at, part))
		return "its description of blocks is damaged";
	if (part->version != TW_CC_VERSION)
		return "it was compiled with another version of trackway cc";
	if (word_of(n, at, part) != n->word)
		why = enter_file(n, at, part);
	n->all_large &= part->large != 0;
	part->first_tag = n->tag;
	part->group = n->group;
	memcpy(bytes_at(n, at), part, sizeof *part);
	return why ? why : number_blocks(n, at, part);
}

static const char *finish_section(const struct tw_cc_linked *f, const Elf64_Shdr *s)
{
	struct numbering n = {.file = f, .section = s, .tag = TW_TAG_FIRST, .all_large = 1};
	struct tw_cc_part part;
	const char *why = NULL;
	for (uint64_t at = 0; !why && tw_cc_linked_part(f, s, &at, &part); at += part.bytes)
		why = finish_part(&n, at, &part);
	if (!why && n.group && !n.all_large)
		why = "it has more than 65520 instrumented blocks; compile all of it with trackway cc --large, or instrument less of it "
		      "(--only, --not)";
	return why;
}

const char *tw_cc_finish(const char *path)
{
	struct tw_cc_linked f;
	const char *why = NULL;
	if (tw_cc_linked_map(path, 1, &f))
		return errno == ENOENT ? NULL : strerror(errno);
	const Elf64_Shdr *s = tw_cc_linked_read(&f) ? NULL : tw_cc_linked_section(&f, TW_CC_SECTION);
	if (s)
		why = finish_section(&f, s);
	munmap(f.at, f.n);
	if (s && !why)
		why = tw_cc_plain(path);
	return s && !why ? tw_cc_early(path) : why;
}

uint64_t tw_cc_thread_memory(const char *path)
{
	struct tw_cc_linked f;
	uint64_t bytes = 0;
	if (tw_cc_linked_map(path, 0, &f))
		return 0;
	for (uint32_t k = 1; !tw_cc_linked_read(&f) && k < f.n_sections; k++)
		bytes += f.section[k].sh_flags & SHF_TLS ? f.section[k].sh_size : 0;
	munmap(f.at, f.n);
	return bytes;
}

static int has_section(const char *path, const char *name)
{
	struct tw_cc_linked f;
	if (tw_cc_linked_map(path, 0, &f))
		return 0;
	int found = !tw_cc_linked_read(&f) && tw_cc_linked_section(&f, name);
	munmap(f.at, f.n);
	return found;
}

int tw_cc_is_instrumented(const char *path)
{
	return has_section(path, TW_CC_SECTION);
}

int tw_cc_is_switchable(const char *path)
{
	return has_section(path, TW_CC_SECTION_TWICE);
}

int tw_cc_is_guarded(const char *path)
{
	return has_section(path, TW_CC_SECTION_GUARD);
}

int tw_cc_is_current(const char *path)
{
	struct tw_cc_linked f;
	struct tw_cc_part part;
	uint64_t at = 0;
	if (tw_cc_linked_map(path, 0, &f))
		return 0;
	const Elf64_Shdr *s = tw_cc_linked_read(&f) ? NULL : tw_cc_linked_section(&f, TW_CC_SECTION);
	const int is_current = s && tw_cc_linked_part(&f, s, &at, &part) && part.version == TW_CC_VERSION;
	munmap(f.at, f.n);
	return is_current;
}
