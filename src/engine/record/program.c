#include "engine/record/program.h"
#include "engine/engine.h"
#include <asm/unistd.h>

static u32 serial;   /* since which execve */
static u32 executor; /* the process that made it */

void tw_program_init(void)
{
	serial = 1 + __atomic_fetch_add((u32 *)&tw_engine.control->next_program, 1, __ATOMIC_RELAXED);
	executor = (u32)tw_sys(__NR_getpid, 0, 0, 0);
}

u32 tw_program_serial(void)
{
	return serial;
}

bool tw_program_forked(void)
{
	return tw_engine.pid != executor;
}
