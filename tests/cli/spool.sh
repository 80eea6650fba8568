# record --spool: what the program writes faster than it can be encoded waits in a file, which is gone when all is encoded; what is recorded is the same.
. "$(dirname "$0")/../lib.sh"

cc_program walk <<'END'
#include <pthread.h>
#include <stdio.h>
static unsigned table[4][1 << 14];
static void *step(void *of)
{
	unsigned *t = of, x = 1;
	for (int i = 0; i < 800000; i++) {
		x = x * 1664525 + t[x >> 18] + 1013904223;
		t[x >> 18] += x ^ (unsigned)i;
	}
	return (void *)(unsigned long)x;
}
int main(void)
{
	pthread_t thread[4];
	unsigned long x = 0;
	void *one;
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, step, table[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &one);
		x += (unsigned long)one;
	}
	printf("%lx\n", x);
	return 9;
}
END

run native.out native.err ./walk
native_status=$?
for spool in 0 64M 300M; do
	rm -rf recording.tw
	run out err "$TW" record -q --spool=$spool -o recording.tw -- ./walk
	status=$?
	[ $status = $native_status ] || fail "--spool=$spool: status $status: $(cat err)"
	cmp -s native.out out || fail "--spool=$spool: another output"
	[ ! -e recording.tw/spool ] || fail "--spool=$spool: the spool is still there"
	"$TW" check recording.tw >check.out 2>&1 || fail "--spool=$spool: $(cat check.out)"
	"$TW" info recording.tw | awk '$1 == "threads" { print $2 }' >threads.$spool
	cmp -s threads.0 threads.$spool || fail "--spool=$spool: $(cat threads.$spool) threads in the place of $(cat threads.0)"
	# what the threads' function does is the same each time; what comes before and after it need not be
	"$TW" report --self --csv --function step recording.tw >step.$spool 2>report.err || fail "--spool=$spool: $(cat report.err)"
	cmp -s step.0 step.$spool || fail "--spool=$spool: $(cat step.$spool) in the place of $(cat step.0)"
done
grep -q step step.0 || fail "report does not know the function: $(cat step.0)"

run out err "$TW" record --spool=64M --verify -o verified.tw -- ./walk
[ $? = $native_status ] || fail "--verify: $(cat err)"

# broken off while the rest is encoded: the next command goes on with it. If all is encoded by then there is nothing to break off.
"$TW" record -q --spool=300M -o broken.tw -- ./walk >out 2>err </dev/null &
recorder=$!
for _ in $(seq 600); do [ -s out ] && break; sleep 0.05; done
sleep 0.1
kill -TERM $recorder 2>/dev/null
wait $recorder
status=$?
[ $status = $native_status ] || [ $status = 143 ] || fail "broken off: status $status: $(cat err)"
if [ -e broken.tw/spool ]; then
	run check.out check.err "$TW" check broken.tw
	grep -q 'have been added to the recording' check.err || fail "broken off: $(cat check.err)"
	[ ! -e broken.tw/spool ] || fail "broken off: the spool is still there"
	grep -qi 'lost\|damage\|missing' check.out check.err && fail "broken off: $(cat check.out check.err)"
	"$TW" report --self --csv --function step broken.tw >step.broken 2>report.err
	cmp -s step.0 step.broken || fail "broken off: $(cat step.broken) in the place of $(cat step.0)"
fi

# memory of the recorder's own stays bounded, however many threads there are: 200 at once, and more of them in turn
cc_program many <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static unsigned table[200][1 << 8];
static int rounds;
static void *step(void *of)
{
	unsigned *t = of, x = 1;
	for (int i = 0; i < rounds; i++) {
		x = x * 1664525 + t[x >> 24] + 1013904223;
		t[x >> 24] += x;
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t thread[200];
	const int n = atoi(argv[1]), at_once = atoi(argv[2]);
	rounds = atoi(argv[3]);
	for (int i = 0; i < n; i += at_once) {
		for (int k = 0; k < at_once; k++)
			if (pthread_create(&thread[k], NULL, step, table[k]))
				return 1;
		for (int k = 0; k < at_once; k++)
			pthread_join(thread[k], NULL);
	}
	return 0;
}
END
# own_memory ARGUMENT...: the most that the recorder had of its own, in MB, as far as looking now and then shows
own_memory() {
	"$TW" record -q -o many.tw -- ./many "$@" >out 2>err </dev/null &
	local recorder=$! now most=0
	while now=$(awk '/^RssAnon/ { print int($2 / 1024) }' /proc/$recorder/status 2>/dev/null) && kill -0 $recorder 2>/dev/null; do
		[ "${now:-0}" -gt $most ] && most=$now
		sleep 0.05
	done
	wait $recorder || fail "$*: $(cat err)"
	"$TW" check -q many.tw >check.out 2>&1 || fail "$*: $(cat check.out)"
	memory=$most
}
own_memory 200 200 30000
asan || [ $memory -le 256 ] || fail "200 threads at once: $memory MB"
own_memory 2000 20 500
asan || [ $memory -le 256 ] || fail "2,000 threads in turn: $memory MB"

for bad in 1k 63M 5s -1 '' many; do
	run out err "$TW" record --spool="$bad" -o bad.tw -- true
	[ $? = 125 ] && grep -q -- '--spool wants' err || fail "--spool=$bad: $(cat err)"
	[ ! -e bad.tw ] || fail "--spool=$bad made a recording"
done
