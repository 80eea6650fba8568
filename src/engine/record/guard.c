#include "engine/record/guard.h"
#include <asm/unistd.h>
#include <linux/mman.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE  103
#endif

static bool advise(const u8 *page, int how)
{
	return !tw_sys(__NR_madvise, page, TW_PAGE, how);
}

static bool protect(const u8 *at, u64 bytes, int prot)
{
	return !tw_sys(__NR_mprotect, at, bytes, prot);
}

static u8 *behind_data(u8 *buffer)
{
	return buffer + TW_BUFFER_BYTES;
}

static bool set(const u8 *page)
{
	return advise(page, MADV_GUARD_INSTALL) || protect(page, TW_PAGE, PROT_NONE);
}

bool tw_guard_set(u8 *buffer)
{
	return set(behind_data(buffer)) && set(tw_channel_slack(buffer) + TW_SLACK_BYTES);
}

bool tw_guard_open(u8 *buffer)
{
	return protect(buffer, TW_BUFFER_STRIDE, PROT_READ | PROT_WRITE) && tw_guard_set(buffer);
}

/* Of both kinds of guard: what does not apply does nothing. */
void tw_guard_lend(u8 *buffer)
{
	protect(behind_data(buffer), TW_PAGE, PROT_READ | PROT_WRITE);
	advise(behind_data(buffer), MADV_GUARD_REMOVE);
}

void tw_guard_take_back(u8 *buffer)
{
	set(behind_data(buffer));
}
