#include "engine/kernel/segment.h"
#include "engine/code/stale.h"
#include "engine/record/buffer.h"
#include <asm/prctl.h>
#include <asm/unistd.h>

/* Translations made so far take the application's %gs base for 0. */
static void use_gs(u64 base)
{
	if (!base || tw_translator.gs_used)
		return;
	tw_lock(&tw_engine.lock);
	tw_translator.gs_used = true;
	tw_fragment_invalidate(0, ~0ull);
	tw_unlock(&tw_engine.lock);
}

void tw_segment_based(struct thread *t, u32 seg, u64 base)
{
	if (seg == TW_SEG_FS) {
		t->app_fs = base;
	} else {
		t->app_gs = base;
		use_gs(base);
	}
	struct tw_segbase e = {seg, 0, base};
	tw_buffer_event(t, TW_EVENT_SEGBASE, &e, sizeof e, NULL, 0);
}

i64 tw_set_segment(struct thread *t, u32 seg, u64 base)
{
	if (base >> 47)
		return -1; /* EPERM, as the kernel says */
	if (seg == TW_SEG_FS) {
		i64 r = tw_sys(__NR_arch_prctl, ARCH_SET_FS, base, 0);
		if (r)
			return r;
	}
	tw_segment_based(t, seg, base);
	return 0;
}
