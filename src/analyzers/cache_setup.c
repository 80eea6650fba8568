#include "analyzers/cache_setup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WAYS = 64, MOST_SETS = 1 << 24 };

/* A cache as it is described. */
struct described {
	uint64_t bytes, ways;
};

/* ---- options: 32k:8 ---- */

static int parse(const char *text, struct described *out)
{
	char *end;
	out->bytes = strtoull(text, &end, 10);
	const char *unit = *end ? strchr("kKmMgG", *end) : NULL;
	if (unit) {
		out->bytes <<= 10 * (1 + (unit - "kKmMgG") / 2);
		end++;
	}
	if (*end != ':')
		return 0;
	out->ways = strtoull(end + 1, &end, 10);
	return !*end;
}

static int is_power(uint64_t n)
{
	return n && !(n & (n - 1));
}

static int take_shape(const struct tw_context *c, const char *what, const struct described *d, unsigned line_bits,
                      struct tw_cache_shape *out)
{
	int fits = d->ways && d->ways <= MOST_WAYS && d->bytes && d->bytes % (d->ways << line_bits) == 0;
	uint64_t sets = fits ? d->bytes / (d->ways << line_bits) : 0;
	if (!fits || sets > MOST_SETS)
		return tw_context_wrong(c, "%s: %" PRIu64 " bytes in %" PRIu64 " ways of lines of %u bytes make no cache", what, d->bytes,
		                        d->ways, 1u << line_bits);
	if (!strcmp(tw_context_text(c, "policy"), "plru") && !is_power(d->ways))
		return tw_context_wrong(c, "%s: the tree of plru wants a power of two ways, not %" PRIu64, what, d->ways);
	*out = (struct tw_cache_shape){(uint32_t)sets, (uint32_t)d->ways};
	return 0;
}

static int take_option(const struct tw_context *c, const char *option, unsigned line_bits, struct tw_cache_shape *out)
{
	const char *text = tw_context_text(c, option);
	struct described d;
	if (!text || !strcmp(text, "none")) {
		*out = (struct tw_cache_shape){0};
		return 0;
	}
	if (!parse(text, &d))
		return tw_context_wrong(c, "--%s wants a size and ways, such as 32k:8, not '%s'", option, text);
	return take_shape(c, option, &d, line_bits, out);
}

/* ---- this machine ---- */

/* A file of the kernel's that describes a cache. 0: there is none. */
static int read_word(unsigned index, const char *name, char *to, size_t size)
{
	char path[128];
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/%s", index, name);
	FILE *f = fopen(path, "r");
	int ok = f && fgets(to, (int)size, f);
	if (f)
		fclose(f);
	if (ok)
		to[strcspn(to, "\n")] = 0;
	return ok;
}

static uint64_t read_number(unsigned index, const char *name)
{
	char text[64];
	return read_word(index, name, text, sizeof text) ? strtoull(text, NULL, 10) : 0;
}

/* The kernel's cache with this number; its place in *out, NULL if there is none for it. */
static struct tw_cache_shape *place_for(struct tw_caches_options *o, unsigned index)
{
	char type[32];
	uint64_t level = read_number(index, "level");
	if (!level || level > TW_CACHE_LEVELS || !read_word(index, "type", type, sizeof type))
		return NULL;
	if (strcmp(type, "Instruction"))
		return &o->level[level - 1];
	return level == 1 ? &o->code : NULL;
}

static int take_this_machine(const struct tw_context *c, struct tw_cache_setup *out)
{
	char level[32];
	for (unsigned i = 0; read_word(i, "level", level, sizeof level); i++) {
		struct tw_cache_shape *to = place_for(&out->caches, i);
		struct described d = {.ways = read_number(i, "ways_of_associativity")};
		uint64_t line = read_number(i, "coherency_line_size");
		d.bytes = read_number(i, "number_of_sets") * d.ways * line;
		if (to && is_power(line)) {
			out->line_bits = (unsigned)__builtin_ctzll(line);
			if (take_shape(c, level, &d, out->line_bits, to))
				return 1;
		}
	}
	if (!out->caches.level[0].sets)
		return tw_context_wrong(c, "--like: the kernel does not tell this machine's caches (/sys/devices/system/cpu)");
	return 0;
}

/* ---- all of it ---- */

static int take_levels(const struct tw_context *c, struct tw_cache_setup *out)
{
	static const char *const options[] = {"l1", "l2", "l3", "l1i"};
	int like = tw_context_given(c, "like");
	int wrong = like && take_this_machine(c, out);
	for (unsigned i = 0; i <= TW_CACHE_LEVELS && !wrong; i++)
		if (!like || tw_context_given(c, options[i]))
			wrong = take_option(c, options[i], out->line_bits, i < TW_CACHE_LEVELS ? &out->caches.level[i] : &out->caches.code);
	return wrong;
}

int tw_cache_setup(const struct tw_context *c, struct tw_cache_setup *out)
{
	uint64_t line = tw_context_number(c, "line");
	if (!is_power(line) || line < 8 || line > 4096)
		return tw_context_wrong(c, "--line: lines have a power of two bytes, from 8 to 4096");
	*out = (struct tw_cache_setup){.line_bits = (unsigned)__builtin_ctzll(line)};
	out->caches.pseudo_lru = !strcmp(tw_context_text(c, "policy"), "plru");
	out->caches.inclusive = tw_context_flag(c, "inclusive");
	if (take_levels(c, out))
		return 1;
	if (!out->caches.level[0].sets || (out->caches.level[2].sets && !out->caches.level[1].sets))
		return tw_context_wrong(c, "a level of cache is missing");
	if (!tw_context_flag(c, "code") && !tw_context_flag(c, "cachegrind"))
		out->caches.code = (struct tw_cache_shape){0};
	return 0;
}
