#include "html/page_data.h"
#include "analyzers/process.h"
#include "html/function_json.h"
#include "export/syscalls.h"
#include "html/regions.h"
#include "names/places.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the recording says of itself ---- */

/* Nanoseconds from the first moment that the story knows. */
static uint64_t ns_of(const struct tw_page *p, uint64_t tsc)
{
	const uint64_t first = p->story->first;
	return tsc > first ? (uint64_t)((double)(tsc - first) * (p->ns_per_cycle > 0 ? p->ns_per_cycle : 1)) : 0;
}

static void put_command(struct tw_compact *c, const struct tw_recording_info *info)
{
	tw_compact_open(c, "command", '[');
	for (int i = 0; i < info->argc; i++)
		tw_compact_text(c, NULL, info->argv[i]);
	tw_compact_close(c, ']');
}

static void put_facts(const struct tw_page *p, struct tw_compact *c)
{
	const struct tw_recording_info *info = tw_recording_info(p->recording);
	const struct tw_totals *t = tw_recording_totals(p->recording);
	tw_compact_open(c, "facts", '{');
	put_command(c, info);
	tw_compact_text(c, "directory", p->dir);
	tw_compact_text(c, "program", info->program);
	tw_compact_text(c, "cwd", info->cwd);
	tw_compact_text(c, "host", info->host);
	tw_compact_text(c, "cpu", info->cpu);
	tw_compact_text(c, "kernel", info->kernel);
	tw_compact_text(c, "format", tw_format_name(info->format));
	tw_compact_text(c, "failure", info->failure);
	tw_compact_real(c, "start", (double)info->start);
	tw_compact_real(c, "wait_status", info->wait_status);
	tw_compact_number(c, "complete", info->complete);
	tw_compact_number(c, "duration_ns", info->duration_ns);
	tw_compact_number(c, "insns", t->insns);
	tw_compact_number(c, "blocks", t->blocks);
	tw_compact_number(c, "refs", t->refs);
	tw_compact_number(c, "reads", t->reads);
	tw_compact_number(c, "writes", t->writes);
	tw_compact_number(c, "gaps", t->gaps);
	tw_compact_number(c, "threads", t->threads);
	tw_compact_number(c, "has_refs", (uint64_t)tw_format_has_refs(info->format));
	tw_compact_number(c, "has_calls", (uint64_t)p->has_calls);
	tw_compact_number(c, "has_time", p->ns_per_cycle > 0);
	tw_compact_number(c, "has_misses", (uint64_t)p->has_misses);
	tw_compact_text(c, "first_cache", tw_context_text(p->cache_context, "l1"));
	tw_compact_text(c, "last_cache", tw_context_text(p->cache_context, "l2"));
	tw_compact_close(c, '}');
}

/* Where a thread's life begins and ends, in time. */
static void put_life(const struct tw_page *p, struct tw_compact *c, const struct tw_thread_info *t)
{
	tw_compact_number(c, NULL, ns_of(p, tw_story_time(p->story, t->serial, 0)));
	tw_compact_number(c, NULL, ns_of(p, tw_story_time(p->story, t->serial, t->totals.insns)));
}

static void put_threads(const struct tw_page *p, struct tw_compact *c)
{
	const struct tw_recording *r = p->recording;
	tw_compact_open(c, "threads", '[');
	for (size_t i = 0; i < tw_recording_n_threads(r); i++) {
		const struct tw_thread_info *t = tw_recording_thread(r, i);
		tw_compact_open(c, NULL, '[');
		tw_compact_number(c, NULL, t->serial);
		tw_compact_number(c, NULL, t->pid);
		tw_compact_number(c, NULL, t->tid);
		put_life(p, c, t);
		tw_compact_number(c, NULL, t->totals.insns);
		tw_compact_number(c, NULL, t->totals.refs);
		tw_compact_text(c, NULL, tw_base_name(tw_recording_program(p->recording, t)));
		tw_compact_close(c, ']');
	}
	tw_compact_close(c, ']');
}

/* ---- what happened ---- */

static void put_name(struct tw_compact *c, uint32_t number)
{
	char text[24];
	const char *name = tw_syscall_name(number);
	snprintf(text, sizeof text, "%u", number);
	tw_compact_text(c, NULL, name ? name : text);
}

static void put_calls(const struct tw_page *p, struct tw_compact *c)
{
	const struct tw_story *s = p->story;
	tw_compact_number(c, "all_syscalls", s->all_calls);
	tw_compact_open(c, "syscalls", '[');
	for (size_t i = 0; i < s->n_calls; i++) {
		const struct tw_story_call *x = &s->calls[i];
		tw_compact_open(c, NULL, '[');
		tw_compact_number(c, NULL, x->thread);
		tw_compact_number(c, NULL, ns_of(p, x->began));
		tw_compact_number(c, NULL, ns_of(p, x->ended));
		tw_compact_text(c, NULL, x->text);
		tw_compact_close(c, ']');
	}
	tw_compact_close(c, ']');
	tw_compact_open(c, "syscall_sums", '[');
	for (size_t i = 0; i < s->n_sums; i++) {
		tw_compact_open(c, NULL, '[');
		tw_compact_number(c, NULL, s->sums[i].thread);
		put_name(c, s->sums[i].number);
		tw_compact_number(c, NULL, s->sums[i].calls);
		tw_compact_number(c, NULL, (uint64_t)((double)s->sums[i].cycles * (p->ns_per_cycle > 0 ? p->ns_per_cycle : 1)));
		tw_compact_close(c, ']');
	}
	tw_compact_close(c, ']');
}

static void put_events(const struct tw_page *p, struct tw_compact *c)
{
	static const char *const kinds[] = {"signal", "fault", "gap", "program", "fork"};
	const struct tw_story *s = p->story;
	tw_compact_number(c, "all_events", s->all_events);
	tw_compact_open(c, "events", '[');
	for (size_t i = 0; i < s->n_events; i++) {
		const struct tw_story_event *e = &s->events[i];
		tw_compact_open(c, NULL, '[');
		tw_compact_number(c, NULL, e->thread);
		tw_compact_number(c, NULL, ns_of(p, tw_story_time(s, e->thread, e->insn)));
		tw_compact_text(c, NULL, kinds[e->kind]);
		tw_compact_text(c, NULL, e->text);
		tw_compact_close(c, ']');
	}
	tw_compact_close(c, ']');
}

/* ---- code ---- */

/* The same function in the tree, which identifies functions by name. */
static const struct tw_calltree_function *call_of(const struct tw_page *p, const struct tw_listing_function *f)
{
	uint32_t i = f->namesake ? UINT32_MAX : tw_calltree_find(&p->calls, f->name, f->module);
	return i == UINT32_MAX ? NULL : &p->calls.functions[i];
}

/* Cache misses of a function's code. */
struct missed {
	uint64_t first, last;
};

/* By owner. NULL: no memory. The caller frees it. */
static struct missed *sum_misses(const struct tw_page *p)
{
	const struct tw_listing *l = &p->listing;
	struct missed *sums = calloc(l->owners.n + 1u, sizeof *sums);
	for (size_t i = 0; sums && i < l->profile.n_insns; i++) {
		const struct tw_profile_insn *insn = &l->profile.insns[l->order[i].insn];
		const struct tw_cache_miss *m = tw_cache_miss_of(&p->misses, insn->image, insn->pc);
		sums[l->order[i].owner].first += m ? m->first : 0;
		sums[l->order[i].owner].last += m ? m->last : 0;
	}
	return sums;
}

static void put_function(const struct tw_page *p, struct tw_compact *c, const struct tw_listing_function *f, const struct missed *missed)
{
	const struct tw_calltree_function *call = call_of(p, f);
	tw_compact_open(c, NULL, '[');
	tw_compact_text(c, NULL, f->name);
	tw_compact_text(c, NULL, f->module);
	tw_compact_text(c, NULL, f->file);
	tw_compact_number(c, NULL, f->line);
	tw_compact_number(c, NULL, call ? call->own.insns : f->insns);
	tw_compact_number(c, NULL, call ? call->all.insns : f->insns);
	tw_compact_number(c, NULL, f->reads);
	tw_compact_number(c, NULL, f->writes);
	tw_compact_number(c, NULL, call ? call->calls : 0);
	tw_compact_number(c, NULL, missed ? missed->first : 0);
	tw_compact_number(c, NULL, missed ? missed->last : 0);
	tw_compact_close(c, ']');
}

/* The code of the first functions, as far as there is room. */
static void put_codes(struct tw_page *p, struct tw_compact *c, size_t most)
{
	struct tw_listing *l = &p->listing;
	size_t insns = 0, left = TW_PAGE_CODE;
	tw_compact_open(c, "code", '[');
	for (size_t i = 0; i < l->n_functions && i < most && i < TW_PAGE_LISTINGS && insns + l->functions[i].n <= TW_PAGE_INSNS; i++) {
		char *text = NULL;
		size_t bytes = 0;
		struct tw_compact one = {.f = open_memstream(&text, &bytes)};
		if (!one.f)
			break;
		insns += tw_function_json(l, &p->misses, &one, &l->functions[i]);
		int whole = !fclose(one.f) && bytes <= left;
		if (whole)
			tw_compact_json(c, text);
		free(text);
		if (!whole)
			break;
		left -= bytes;
	}
	tw_compact_close(c, ']');
}

static void put_functions(struct tw_page *p, struct tw_compact *c, int served)
{
	struct tw_listing *l = &p->listing;
	struct missed *missed = sum_misses(p);
	size_t most = served ? SIZE_MAX : TW_PAGE_FUNCTIONS, bytes = 0;
	tw_compact_number(c, "all_functions", l->n_functions);
	tw_compact_open(c, "functions", '[');
	for (size_t i = 0; i < l->n_functions && i < most && (served || bytes < TW_PAGE_NAMES); i++) {
		bytes += strlen(l->functions[i].name);
		put_function(p, c, &l->functions[i], missed ? &missed[l->functions[i].owner] : NULL);
	}
	free(missed);
	tw_compact_close(c, ']');
	if (served)
		most = 0;
	put_codes(p, c, most);
}

/* Returns the bytes of its function's name. */
static size_t put_block(struct tw_page *p, struct tw_compact *c, uint32_t block)
{
	const struct tw_profile_block *b = &p->listing.profile.fixed.blocks[block];
	struct tw_code_name name;
	tw_names_code(p->names, b->image, b->pc, &name);
	tw_compact_open(c, NULL, '[');
	tw_compact_address(c, NULL, b->pc);
	tw_compact_text(c, NULL, name.function);
	tw_compact_text(c, NULL, name.module);
	tw_compact_text(c, NULL, name.file ? tw_base_name(name.file) : NULL);
	tw_compact_number(c, NULL, name.line);
	tw_compact_number(c, NULL, b->executions);
	tw_compact_number(c, NULL, b->n_insns);
	tw_compact_number(c, NULL, b->bytes);
	tw_compact_text(c, NULL, tw_ending_name((enum tw_ending)b->ending));
	tw_compact_number(c, NULL, b->n_edges);
	tw_compact_close(c, ']');
	return strlen(name.function);
}

static void put_blocks(struct tw_page *p, struct tw_compact *c)
{
	const struct tw_profile_blocks *all = &p->listing.profile.fixed;
	struct tw_profile_hot *hot = tw_profile_hottest(all);
	size_t bytes = 0;
	tw_compact_number(c, "all_blocks", all->n_blocks);
	tw_compact_open(c, "blocks", '[');
	for (uint32_t i = 0; hot && i < all->n_blocks && i < TW_PAGE_BLOCKS && bytes < TW_PAGE_NAMES / 2; i++)
		bytes += put_block(p, c, hot[i].block);
	tw_compact_close(c, ']');
	free(hot);
}

/* Files without names or lines, and why. */
static void put_problems(struct tw_page *p, struct tw_compact *c)
{
	const char *path, *why;
	tw_compact_open(c, "unnamed", '[');
	for (size_t i = 0; (why = tw_names_problem(p->names, i, &path)); i++) {
		tw_compact_open(c, NULL, '[');
		tw_compact_text(c, NULL, path);
		tw_compact_text(c, NULL, why);
		tw_compact_close(c, ']');
	}
	tw_compact_close(c, ']');
}

/* Code of one file without source lines: instructions executed, and those in functions without a name. */
struct no_lines {
	uint64_t insns, unnamed;
};

/* Whether a function's name is but its file's, with an address. */
static int is_unnamed(const struct tw_listing_function *f)
{
	size_t n = strlen(f->module);
	return !strncmp(f->name, f->module, n) && !strncmp(f->name + n, "+0x", 3);
}

/* Files with executed code without lines: "no_lines": [[PATH, INSTRUCTIONS, of them in functions without a name]...]. */
static void put_no_lines(const struct tw_page *p, struct tw_compact *c)
{
	const struct tw_listing *l = &p->listing;
	struct no_lines *sums = calloc(l->owners.objects.n + 1u, sizeof *sums);
	for (size_t i = 0; sums && i < l->n_functions; i++) {
		const struct tw_listing_function *f = &l->functions[i];
		struct no_lines *sum = &sums[l->owners.items[f->owner].object];
		sum->insns += f->file ? 0 : f->insns;
		sum->unnamed += !f->file && is_unnamed(f) ? f->insns : 0;
	}
	tw_compact_open(c, "no_lines", '[');
	for (uint32_t i = 0; sums && i < l->owners.objects.n; i++) {
		if (!sums[i].insns || l->owners.objects.items[i][0] != '/')
			continue;
		tw_compact_open(c, NULL, '[');
		tw_compact_text(c, NULL, l->owners.objects.items[i]);
		tw_compact_number(c, NULL, sums[i].insns);
		tw_compact_number(c, NULL, sums[i].unnamed);
		tw_compact_close(c, ']');
	}
	tw_compact_close(c, ']');
	free(sums);
}

void tw_page_data(struct tw_page *p, FILE *f, int served)
{
	struct tw_compact c = {.f = f};
	size_t left_out = 0;
	tw_compact_open(&c, NULL, '{');
	tw_compact_number(&c, "served", (uint64_t)served);
	tw_compact_number(&c, "span_ns", ns_of(p, p->story->last));
	put_facts(p, &c);
	put_threads(p, &c);
	put_calls(p, &c);
	put_events(p, &c);
	put_functions(p, &c, served);
	if (p->has_calls)
		left_out = tw_calltree_json(&p->calls, &c, TW_PAGE_CONTEXTS);
	tw_compact_number(&c, "contexts_left_out", left_out);
	put_blocks(p, &c);
	tw_regions_json(p->story, p->context, p->names, &c);
	put_no_lines(p, &c);
	put_problems(p, &c);
	tw_compact_close(&c, '}');
}
