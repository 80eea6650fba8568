#include "channel/machine.h"

#include <cpuid.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * On a virtual machine each CPUID exits to the host, which takes as long as a page fault; <cpuid.h> executes it twice
 * each time. So only existing and useful leaves are queried, once.
 */

/* The last leaf of those from `first` on; 0: there are none. */
static uint32_t last_leaf(uint32_t first)
{
	uint32_t a, b, c, d;
	__cpuid(first, a, b, c, d);
	return a < first ? 0 : a;
}

static uint64_t read_xcr0(void)
{
	uint32_t a, b, c, d;
	__cpuid(1, a, b, c, d);
	if (!(c & bit_OSXSAVE))
		return 0;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	return (uint64_t)d << 32 | a;
}

static void ask_for_xstate(struct tw_xstate *out)
{
	enum { LEAF = 0xd };
	out->xcr0 = read_xcr0();
	if (out->xcr0 < 4 || last_leaf(0) < LEAF)
		return; /* x87 and SSE have their places */
	for (uint32_t i = 2; i < 32; i++) {
		uint32_t size, offset, flags, d;
		if (!(out->xcr0 >> i & 1))
			continue;
		__cpuid_count(LEAF, i, size, offset, flags, d);
		if (!size || flags & 1)
			continue; /* bit 0: a supervisor component, which no user instruction touches */
		out->component[i].size = size;
		out->component[i].offset = offset;
		out->component[i].align64 = flags >> 1 & 1;
	}
}

void tw_machine_xstate(struct tw_xstate *out)
{
	static struct tw_xstate known;
	static int asked;
	if (!asked)
		ask_for_xstate(&known);
	asked = 1;
	*out = known;
}

void tw_machine_cpu(char name[64])
{
	uint32_t brand[13] = {0};
	name[0] = 0;
	if (last_leaf(0x80000000) < 0x80000004)
		return;
	for (uint32_t i = 0; i < 3; i++)
		__cpuid(0x80000002 + i, brand[i * 4], brand[i * 4 + 1], brand[i * 4 + 2], brand[i * 4 + 3]);
	char *to = name;
	for (const char *p = (const char *)brand; *p; p++)
		if (*p != ' ' || (to > name && to[-1] != ' '))
			*to++ = *p;
	while (to > name && to[-1] == ' ')
		to--;
	*to = 0;
}

/* Extends h over what CPUID says in a leaf, without what differs from core to core. */
static uint64_t hash_leaf(uint64_t h, uint32_t leaf)
{
	uint32_t r[4];
	__cpuid_count(leaf, 0, r[0], r[1], r[2],
	              r[3]); /* leaf 0 has the last one's number; beyond that the processor returns the last one's data, just as good */
	if (leaf == 1)
		r[1] = 0;
	for (int k = 0; k < 4; k++)
		h = (h ^ r[k]) * 0x9e3779b97f4a7c15u + 1;
	return h;
}

/* The kernel's number for the time since it was started: hexadecimal digits with hyphens. */
static int read_boot(uint8_t boot[16])
{
	char text[64];
	const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	unsigned found = 0;
	if (fd >= 0)
		close(fd);
	for (ssize_t k = 0; k + 1 < n && found < 16; k++) {
		unsigned byte;
		if (text[k] == '-' || sscanf((char[]){text[k], text[k + 1], 0}, "%2x", &byte) != 1)
			continue;
		boot[found++] = (uint8_t)byte;
		k++;
	}
	return found == 16;
}

int tw_machine_identify(struct tw_machine_id *id)
{
	memset(id, 0, sizeof *id);
	for (uint32_t leaf = 0; leaf < 2; leaf++)
		id->processor = hash_leaf(id->processor, leaf);
	id->processor = hash_leaf(id->processor ^ read_xcr0(), 7);
	return read_boot(id->boot);
}

uint64_t tw_machine_memory(void)
{
	uint64_t most = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	struct rlimit l;
	if (!getrlimit(RLIMIT_AS, &l) && l.rlim_cur < most)
		most = l.rlim_cur;
	if (!getrlimit(RLIMIT_DATA, &l) && l.rlim_cur < most)
		most = l.rlim_cur;
	return most;
}

/* The first number in a file that begins a line with `key`, or just begins with it; UINT64_MAX: there is none. */
static uint64_t number_in(const char *path, const char *key)
{
	char line[256];
	unsigned long long n;
	uint64_t found = UINT64_MAX;
	FILE *f = fopen(path, "re");
	while (f && found == UINT64_MAX && fgets(line, sizeof line, f))
		if (!strncmp(line, key, strlen(key)) && sscanf(line + strlen(key), "%llu", &n) == 1)
			found = n;
	if (f)
		fclose(f);
	return found;
}

/* What is left of one limit of a control group. */
static uint64_t left_of(const char *dir, const char *limit, const char *used)
{
	char path[2][4200];
	snprintf(path[0], sizeof path[0], "%s/%s", dir, limit);
	snprintf(path[1], sizeof path[1], "%s/%s", dir, used);
	const uint64_t most = number_in(path[0], ""), now = number_in(path[1], "");
	return most == UINT64_MAX || now == UINT64_MAX ? UINT64_MAX : most > now ? most - now : 0;
}

/* What the control groups of this process, of either version, leave it; UINT64_MAX: no limit. */
static uint64_t free_in_groups(void)
{
	char line[4096], dir[4160];
	uint64_t least = UINT64_MAX;
	FILE *f = fopen("/proc/self/cgroup", "re");
	while (f && fgets(line, sizeof line, f)) {
		char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		const int second = controllers + 1 == group, memory = !second && strstr(controllers, "memory") != NULL;
		line[strcspn(line, "\n")] = 0;
		for (char *end = group + strlen(group); (second || memory) && end; end = strrchr(group + 1, '/')) {
			*end = 0;
			snprintf(dir, sizeof dir, "/sys/fs/cgroup%s%s", second ? "" : "/memory", group + 1);
			const uint64_t left = second ? left_of(dir, "memory.max", "memory.current")
			                             : left_of(dir, "memory.limit_in_bytes", "memory.usage_in_bytes");
			least = left < least ? left : least;
		}
	}
	if (f)
		fclose(f);
	return least;
}

uint64_t tw_machine_free(void)
{
	const uint64_t available = number_in("/proc/meminfo", "MemAvailable:"), grouped = free_in_groups();
	const uint64_t here = available == UINT64_MAX ? tw_machine_memory() / 2 : available * 1024;
	return here < grouped ? here : grouped;
}

unsigned tw_machine_processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	return n < 1 ? 1 : (unsigned)n;
}

int tw_machine_tsc_invariant(void)
{
	uint32_t a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d >> 8 & 1;
}

struct tw_moment tw_machine_now(void)
{
	struct tw_moment best = {0, 0};
	uint64_t shortest = UINT64_MAX;
	for (int k = 0; k < 5; k++) { /* the one in which the two were read closest to each other */
		struct timespec t;
		uint64_t before = __builtin_ia32_rdtsc();
		clock_gettime(CLOCK_MONOTONIC_RAW, &t);
		uint64_t took = __builtin_ia32_rdtsc() - before;
		if (took < shortest)
			best = (struct tw_moment){before + took / 2, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec};
		shortest = took < shortest ? took : shortest;
	}
	return best;
}

uint64_t tw_machine_tsc_hz(const struct tw_moment *from, const struct tw_moment *to)
{
	return to->ns > from->ns ? (uint64_t)((double)(to->tsc - from->tsc) * 1e9 / (double)(to->ns - from->ns)) : 0;
}

struct timespec tw_machine_deadline(unsigned ms)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += ms % 1000 * 1000000L;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

uint64_t tw_machine_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
