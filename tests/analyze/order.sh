# An analyzer of TW_SCOPE_ALL sees all threads in the order of time: the events that have one as `dump --order` has them, each thread's blocks and references whole and
# in their order.
. "$(dirname "$0")/../lib.sh"
need_command python3
asan && skip "a plug-in built without the sanitizer does not go with a tool that has it"
cat >seen.c <<'END'
#include <inttypes.h>
#include <stdlib.h>
#include <trackway/context.h>

struct state {
	const struct tw_context *context;
	FILE *f;
	uint64_t insns[64], refs[64];
};

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	s->context = arg;
	s->f = tw_answer_stream(tw_context_answer(arg));
	return s;
}

static uint64_t time_of(const struct tw_event *e)
{
	const void *p = e->payload;
	switch (e->type) {
	case TW_EVENT_KEYFRAME: return ((const struct tw_keyframe *)p)->tsc;
	case TW_EVENT_SYSCALL: return ((const struct tw_syscall *)p)->tsc;
	case TW_EVENT_THREAD_START: return ((const struct tw_thread_start *)p)->tsc;
	case TW_EVENT_THREAD_END: return ((const struct tw_thread_end *)p)->tsc;
	case TW_EVENT_FORK: return ((const struct tw_fork *)p)->tsc;
	case TW_EVENT_PROGRAM: return ((const struct tw_program_start *)p)->tsc;
	case TW_EVENT_STAMP: return ((const struct tw_stamp *)p)->tsc;
	default: return 0;
	}
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	uint64_t start = tw_recording_info(tw_context_recording(s->context))->tsc_start;
	if (b->first_insn != s->insns[b->thread] || b->first_ref != s->refs[b->thread])
		return tw_context_wrong(s->context, "thread %u goes on at %" PRIu64 ", not %" PRIu64, b->thread, b->first_insn, s->insns[b->thread]);
	s->insns[b->thread] += b->n_insns;
	s->refs[b->thread] += b->n_refs;
	for (size_t i = 0; i < b->n_events; i++) {
		uint64_t time = time_of(&b->events[i]);
		if (time)
			fprintf(s->f, "%" PRIu64 " %u\n", time - start, b->thread);
		if (time && (i || b->events[i].block))
			return tw_context_wrong(s->context, "an event with a time in the middle of a batch");
	}
	return 0;
}

static int merge(void *state, void *later)
{
	(void)state;
	free(later);
	return 1;
}

static int end(void *state, int error)
{
	struct state *s = state;
	uint64_t insns = 0, refs = 0;
	for (int i = 0; i < 64; i++) {
		insns += s->insns[i];
		refs += s->refs[i];
	}
	if (!error)
		fprintf(s->f, "all %" PRIu64 " %" PRIu64 "\n", insns, refs);
	free(s);
	return error;
}

static const struct tw_analyzer seen = {.name = "seen", .begin = begin, .batch = batch, .merge = merge, .end = end, .scope = TW_SCOPE_ALL};
TW_PLUGIN(seen);
END
$CC -shared -fPIC -I"$ROOT/include" -o seen.so seen.c || fail "seen.c does not compile"
cc_program threads -pthread <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long shared, own[8][1024];
static void *work(void *arg)
{
	for (long i = 0; i < 20000; i++) {
		own[(long)arg][i % 1024] += i;
		if (i % 100)
			continue;
		pthread_mutex_lock(&lock);
		shared++;
		pthread_mutex_unlock(&lock);
		getppid();
	}
	return NULL;
}
int main(void)
{
	pthread_t t[8];
	for (int round = 0; round < 3; round++) {
		for (long i = 0; i < 5; i++)
			pthread_create(&t[i], NULL, work, (void *)i);
		for (int i = 0; i < 5; i++)
			pthread_join(t[i], NULL);
		if (!fork())
			_exit(0);
	}
	return 0;
}
END
for options in '' --order; do
	read -ra RECORD_OPTIONS <<<"$options"
	recorded ./threads
	"$TW" analyze ./seen.so -j3 recording.tw >found || fail "analyze"
	"$TW" dump --order recording.tw | awk '{ print $1, $2 }' >expected
	echo "all $(info_value instructions) $(info_value refs)" >>expected
	# One event has no time here: how a child ended.
	"$TW" dump --order recording.tw | grep -q child-end && fail "the test's own program waits for children"
	diff found expected >difference || fail "not in the order of the dump: $(head -n 5 difference)"
done
# A part of the threads.
"$TW" analyze ./seen.so --thread 2 recording.tw >found || fail "analyze --thread"
"$TW" dump --order --thread 2 recording.tw | awk '{ print $1, $2 }' >expected
diff <(grep -v all found) expected >difference || fail "one thread: $(head -n 5 difference)"
# Damage: the rest is seen, and said.
size=$(stat -c %s recording.tw/thread-0003)
printf '\377\377\377\377' | dd of=recording.tw/thread-0003 bs=1 seek=$((size / 2)) conv=notrunc status=none
"$TW" analyze ./seen.so recording.tw >found 2>err && fail "damage is not told"
grep -q 'thread 3, chunk . is damaged' err || fail "damage is not named: $(cat err)"
grep -q '^all' found || fail "no answer from what is left"
