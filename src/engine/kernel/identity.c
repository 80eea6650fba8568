#include "engine/kernel/identity.h"
#include <asm/unistd.h>
#include <linux/prctl.h>

/* The end of `n` strings that follow `from` without a gap. */
static u64 end_of_strings(char *const *strings, u64 n, u64 from)
{
	u64 end = from;
	for (u64 i = 0; i < n; i++)
		if ((u64)strings[i] == end)
			end += strlen(strings[i]) + 1;
	return end;
}

static u64 count(char *const *strings)
{
	u64 n = 0;
	while (strings[n])
		n++;
	return n;
}

static u64 vector_bytes(const Elf64_auxv_t *a)
{
	u64 n = 1;
	while (a[n - 1].a_type)
		n++;
	return n * sizeof *a;
}

static bool tell(const struct prctl_mm_map *m)
{
	return !tw_failed(tw_sys6(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, (u64)m, sizeof *m, 0, 0));
}

static struct prctl_mm_map told; /* if start_brk is not 0 */

void tw_identity_tell_brk(u64 brk)
{
	told.brk = brk;
	if (told.start_brk)
		tell(&told);
}

void tw_identity_tell(struct start *s, const struct loaded *l, u64 brk)
{
	const u64 first = (u64)s->argv[0], end = end_of_strings(s->argv, s->argc, first), env = end + s->own_bytes;
	struct prctl_mm_map m = {
	    .start_code = l->code,
	    .end_code = l->code_end,
	    .start_data = l->data,
	    .end_data = l->data_end,
	    .start_brk = brk,
	    .brk = brk,
	    .start_stack = s->sp,
	    .arg_start = first + s->own_bytes,
	    .arg_end = env,
	    .env_start = env,
	    .env_end = end_of_strings(s->envp, count(s->envp), env),
	    .auxv = (__u64 *)s->auxv,
	    .auxv_size = (u32)vector_bytes(s->auxv),
	    .exe_fd = ~0u,
	};
	if (!s->argc || !tell(&m))
		return;
	told = m;
	told.auxv = NULL; /* as it is now */
	told.auxv_size = 0;
	memmove((void *)m.arg_start, (void *)first, end - first);
	for (u64 i = 0; i < s->argc; i++)
		s->argv[i] += s->own_bytes;
}
