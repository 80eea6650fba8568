#include "cli/memory.h"
#include "analyze/mappings.h"
#include "cli/options.h"
#include "export/syscalls.h"
#include "recording/recording.h"
#include "report/printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <trackway/names.h>

struct memory {
	const struct tw_recording *recording;
	struct tw_names *names;
	struct tw_mappings mappings;
};

static int open_memory(struct memory *m, const struct tw_recording *r)
{
	*m = (struct memory){.recording = r};
	int error = tw_mappings_read(r, &m->mappings);
	if (!error && m->mappings.n && !(m->names = tw_names_open(r, NULL)))
		error = TW_ERR_MEMORY;
	return error;
}

static void close_memory(struct memory *m)
{
	tw_mappings_free(&m->mappings);
	tw_names_close(m->names);
}

/* The name of the call that made it, and the function that called. "" if no call is known. */
static void find_call(struct memory *m, const struct tw_mapping *x, const char **call, struct tw_code_name *by)
{
	*call = "";
	*by = (struct tw_code_name){.function = "", .module = ""};
	if (!x->pc)
		return;
	const char *name = tw_syscall_name(x->call);
	*call = name ? name : "?";
	tw_names_code(m->names, tw_names_image(m->names, tw_recording_thread(m->recording, x->thread)->serial), x->pc, by);
}

/* A time stamp in seconds since the start, or in cycles if their rate is unknown. */
static double time_of(const struct tw_recording *r, uint64_t tsc)
{
	const struct tw_recording_info *info = tw_recording_info(r);
	double cycles = tsc > info->tsc_start ? (double)(tsc - info->tsc_start) : 0;
	return info->tsc_hz ? cycles / (double)info->tsc_hz : cycles;
}

/* ---- text ---- */

static void print_time(const struct tw_recording *r, uint64_t tsc, const char *otherwise)
{
	if (tsc)
		printf(" %10.6f", time_of(r, tsc));
	else
		printf(" %10s", otherwise);
}

static void print_head(const struct tw_recording *r)
{
	printf("%s", tw_recording_n_processes(r) > 1 ? "     pid" : "");
	puts("  address                           prot kind               from         to  by            file");
}

static void print_mapping(struct memory *m, const struct tw_mapping *x)
{
	const char *call;
	struct tw_code_name by;
	find_call(m, x, &call, &by);
	if (tw_recording_n_processes(m->recording) > 1)
		printf("%8u", x->pid);
	printf("  %016" PRIx64 "-%016" PRIx64 " %c%c%c  %-12s", x->address, x->end, x->prot & PROT_READ ? 'r' : '-',
	       x->prot & PROT_WRITE ? 'w' : '-', x->prot & PROT_EXEC ? 'x' : '-', tw_mapping_kind_name(x->kind));
	print_time(m->recording, x->began, "start");
	print_time(m->recording, x->ended, "end");
	printf("  %s", *call ? call : "-");
	if (*call && strcmp(by.function, call)) {
		fputs(" in ", stdout);
		tw_print_safe(stdout, by.function);
	}
	if (*x->path && *x->path != '[') {
		fputs("  ", stdout);
		tw_print_safe(stdout, x->path);
		printf("+0x%" PRIx64, x->offset);
	}
	putchar('\n');
}

static int is_data(const struct tw_mapping *x)
{
	return !(x->prot & PROT_EXEC);
}

int tw_memory_print(const struct tw_recording *r, size_t most)
{
	struct memory m;
	size_t n = 0;
	int error = open_memory(&m, r);
	for (size_t i = 0; i < m.mappings.n && !error; i++) {
		if (!is_data(&m.mappings.items[i]))
			continue;
		if (!n) {
			puts("\ndata in memory (times in seconds since the start)");
			print_head(r);
		}
		if (n++ < most || !most)
			print_mapping(&m, &m.mappings.items[i]);
	}
	if (most && n > most)
		printf("... and %zu more (--mappings shows all)\n", n - most);
	close_memory(&m);
	return error;
}

static void print_variable(struct memory *m, const struct tw_mapping *x, uint64_t address)
{
	const uint32_t image = tw_names_image(m->names, tw_recording_thread(m->recording, x->thread)->serial);
	struct tw_data_name name;
	char part[400];
	tw_names_data(m->names, image, address, &name);
	if (!name.known)
		return;
	fputs("    variable ", stdout);
	tw_print_safe(stdout, name.object);
	printf("+0x%" PRIx64 ", of %" PRIu64 " bytes", name.offset, name.bytes);
	if (tw_names_variable(m->names, image, address, part, sizeof part) && !strchr(part, '+') && strcmp(part, name.object)) {
		fputs(": ", stdout);
		tw_print_safe(stdout, part);
	}
	putchar('\n');
}

static int holds(const struct tw_mapping *x, const uint64_t *address)
{
	return !address || (x->address <= *address && *address < x->end);
}

int tw_memory_print_address(const struct tw_recording *r, uint64_t address)
{
	struct memory m;
	size_t n = 0;
	int error = open_memory(&m, r);
	for (size_t i = 0; i < m.mappings.n && !error; i++) {
		if (!holds(&m.mappings.items[i], &address))
			continue;
		if (!n++)
			print_head(r);
		print_mapping(&m, &m.mappings.items[i]);
		print_variable(&m, &m.mappings.items[i], address);
	}
	close_memory(&m);
	return error ? error : !n;
}

/* ---- JSON ---- */

static void json_mapping(struct tw_json *j, struct memory *m, const struct tw_mapping *x)
{
	const char protection[] = {x->prot & PROT_READ ? 'r' : '-', x->prot & PROT_WRITE ? 'w' : '-', x->prot & PROT_EXEC ? 'x' : '-', 0};
	const char *call;
	struct tw_code_name by;
	find_call(m, x, &call, &by);
	tw_json_open(j, NULL, '{');
	tw_json_number(j, "pid", x->pid);
	tw_json_number(j, "address", x->address);
	tw_json_number(j, "length", x->end - x->address);
	tw_json_text(j, "protection", protection);
	tw_json_text(j, "kind", tw_mapping_kind_name(x->kind));
	if (x->began)
		tw_json_real(j, "from", time_of(m->recording, x->began));
	if (x->ended)
		tw_json_real(j, "to", time_of(m->recording, x->ended));
	if (*call) {
		tw_json_text(j, "call", call);
		tw_json_number(j, "thread", tw_recording_thread(m->recording, x->thread)->serial);
		tw_json_text(j, "function", by.function);
		tw_json_text(j, "module", by.module);
	}
	if (*x->path && *x->path != '[') {
		tw_json_text(j, "path", x->path);
		tw_json_number(j, "offset", x->offset);
	}
	tw_json_close(j, '}');
}

int tw_memory_json(struct tw_json *j, const struct tw_recording *r, const uint64_t *address)
{
	struct memory m;
	int error = open_memory(&m, r);
	tw_json_open(j, "mappings", '[');
	for (size_t i = 0; i < m.mappings.n && !error; i++)
		if (holds(&m.mappings.items[i], address))
			json_mapping(j, &m, &m.mappings.items[i]);
	tw_json_close(j, ']');
	close_memory(&m);
	return error;
}
