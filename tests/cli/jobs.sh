# However many workers replay a recording, the answer is the same: of processes that execute different programs and share their libraries' code, and of a run in many chunks.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
cc_program work -O1 -g -fno-inline -pthread <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static unsigned table[4096];
static unsigned step(unsigned at) { return table[at % 4096] * 2654435761u + at; }
static unsigned deeper(unsigned at, int depth) { return depth ? deeper(step(at), depth - 1) + table[depth] : step(at); }
static void *work(void *from)
{
	unsigned at = (unsigned)(long)from;
	for (int i = 0; i < 60000; i++)
		at = deeper(at, 3 + (int)(at >> 30));
	return (void *)(long)at;
}
int main(void)
{
	pthread_t t;
	void *at;
	for (unsigned i = 0; i < 4096; i++)
		table[i] = i * 40503u;
	pthread_create(&t, NULL, work, (void *)1l);
	printf("%d\n", work((void *)2l) != NULL);
	return pthread_join(t, &at);
}
END
record() { "$TW" record -q -o "$@" >/dev/null 2>err || fail "record -o $*: $(cat err)"; }
record long.tw --hot=0 --ring=1G -- ./work # small chunks
record tree.tw -- sh -c 'expr 1 + 1; expr 1 + 2; echo 1 | sed s/1/2/; uname; ./work'
[ "$(info_value chunks long.tw)" -gt 4 ] || fail "there are too few chunks for this test"

# What tells programs apart is asked of both recordings; the rest is, without TW_FULL, asked of one of them.
of_both=("report -n 0" "report --tree -n 0" "blocks --json" "blocks --callgrind=/dev/stdout" "paths" "check" "analyze mix" "analyze cct")
of_one=("report --lines -n 0" "report --memory -n 0" "report --blocks -n 0" "report --callers deeper" "report --callees work"
	"report --from 100000i --to 2000000i -n 0" "report --thread 0 --json" "blocks -n 0" "blocks --superblocks"
	"blocks --lcov=/dev/stdout" "paths --json -n 5")
for analyzer in footprint branches cache sharing; do
	of_one+=("analyze $analyzer")
done
for recording in long tree; do
	answers=("${of_both[@]}")
	[ $recording = tree ] && [ "${TW_FULL:-0}" = 0 ] || answers+=("${of_one[@]}")
	for answer in "${answers[@]}"; do
		for jobs in 1 3; do
			# shellcheck disable=SC2086 # words
			"$TW" $answer -j $jobs $recording.tw >said.$jobs 2>err || fail "$answer -j $jobs of $recording: $(cat err)"
		done
		cmp said.1 said.3 || fail "$answer of $recording: with -j 3 it is another answer"
	done
done

# These are a file for each thread.
for jobs in 1 3; do
	"$TW" blocks --simpoint=vectors.$jobs -j $jobs long.tw 2>err || fail "blocks --simpoint -j $jobs: $(cat err)"
	[ -s vectors.$jobs ] && [ -s vectors.$jobs.1 ] || fail "blocks --simpoint -j $jobs wrote $(echo vectors.*)"
done
cmp vectors.1 vectors.3 && cmp vectors.1.1 vectors.3.1 || fail "blocks --simpoint of long: with -j 3 it is another answer"
