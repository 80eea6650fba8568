#include "cli/how_far.h"
#include "channel/machine.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <stdio.h>
#include <unistd.h>

enum { RENEWED_NS = 200000000 };

void tw_how_far_tell(void *how_far, size_t done, size_t chunks)
{
	struct tw_how_far *h = how_far;
	const uint64_t now = tw_machine_ns();
	if (chunks < 2 || !isatty(STDERR_FILENO))
		return;
	/* The cursor stays at the start of the line, so that other output replaces it. */
	if (done == chunks && h->told_ns)
		fputs("\033[K\r", stderr);
	else if (done < chunks && now - h->told_ns >= RENEWED_NS)
		fprintf(stderr, "%s %s: replayed %zu of %zu chunks (%zu %%)\033[K\r", tw_cli_program, h->command, done, chunks,
		        100 * done / chunks);
	else
		return;
	h->told_ns = done == chunks ? 0 : now;
}

struct tw_replay_options tw_how_far_replay(struct tw_how_far *how_far, struct tw_damage *damage, uint64_t jobs)
{
	return (struct tw_replay_options){.jobs = (unsigned)jobs,
	                                  .damage = tw_damage_report,
	                                  .context = damage,
	                                  .progress = tw_how_far_tell,
	                                  .progress_context = how_far};
}
