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

for bad in 1k 63M 5s -1 '' many; do
	run out err "$TW" record --spool="$bad" -o bad.tw -- true
	[ $? = 125 ] && grep -q -- '--spool wants' err || fail "--spool=$bad: $(cat err)"
	[ ! -e bad.tw ] || fail "--spool=$bad made a recording"
done
