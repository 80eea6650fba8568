/* The thread pointer, %fs, while the decoder runs and after (glue.S, tw_with_decoder). */
#include "engine/thread.h"
#include <asm/prctl.h>
#include <asm/unistd.h>

void tw_decoder_fs(void);
void tw_application_fs(void);

static u64 decoder_tls[16] = {[5] = 0x7477f00d5afe0000ull}; /* stack guard at %fs:0x28 */

static void set_fs(u64 base)
{
	if (tw_engine.fsgsbase)
		__asm__ volatile("wrfsbase %0" : : "r"(base));
	else
		tw_sys(__NR_arch_prctl, ARCH_SET_FS, base, 0);
}

void tw_decoder_fs(void)
{
	set_fs((u64)decoder_tls);
}

void tw_application_fs(void)
{
	set_fs(tw_thread_self()->app_fs);
}
