# What a program that does little did is stored after a moment, not only when a buffer is full: it is there when the collector is killed.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program slow <<'END_C'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; access("stop", F_OK); i++) { /* so few that no buffer is full before the test's time is over */
		printf("%d\n", i);
		fflush(stdout);
		usleep(50000);
	}
	return 0;
}
END_C
"$TW" record -q -o r.tw "${RECORD_OPTIONS[@]}" -- ./slow >out 2>err </dev/null &
collector=$!
stored() { "$TW" dump --raw r.tw 2>dump.err | grep -c '^  event syscall 1 1 '; } # write(1, ...)
until [ "$(stored)" -ge 20 ]; do sleep 0.2; done
kill -KILL $collector
wait $collector 2>/dev/null
: >stop
[ "$(stored)" -ge 20 ] || fail "of $(wc -l <out) lines that were written $(stored) are in the recording: $(cat dump.err)"
"$TW" info r.tw >info.out && grep -q '^state *incomplete' info.out || fail "info does not say that the recording is incomplete"

# It tells time: all that is there happened while the recorder lived, and the twenty lines took most of a second.
"$TW" sql --csv r.tw 'select max(time) / 1000000 from block_runs' >times || fail "times: $(cat times)"
tail -n 1 times | grep -qE '^[0-9]+$' || fail "no times: $(cat times)"
[ "$(tail -n 1 times)" -ge 900 ] && [ "$(tail -n 1 times)" -le $((SECONDS * 1000 + 1000)) ] || fail "times up to $(tail -n 1 times) ms, after $SECONDS s"
"$TW" report --from 0s --to 1000s r.tw >out.report 2>err.report || [ $? = 1 ] || fail "--from 0s: $(cat err.report)"
grep -q 'has no times' err.report && fail "--from 0s: $(cat err.report)"

# A thread that only computes makes no system call, and loops whose turns are counted hardly fill a buffer: what it did is on disk all the same, long before it ends.
cc_program computes -O1 -pthread <<'END_C'
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
static volatile char *stop; /* in a file: no system call tells */
static void *compute(void *arg)
{
	long sum = 0;
	while (!*stop)
		for (long i = 0; i < 10000000; i++)
			__asm__ volatile("add %1, %0" : "+r"(sum) : "r"(i));
	return (void *)(sum == 1 ? arg : (void *)0);
}
int main(void)
{
	pthread_t other;
	stop = mmap(0, 1, PROT_READ, MAP_SHARED, open("flag", O_RDONLY), 0);
	pthread_create(&other, 0, compute, 0);
	compute(0);
	pthread_join(other, 0);
	return 0;
}
END_C
printf '\0' >flag
"$TW" record -q -o c.tw "${RECORD_OPTIONS[@]}" -- ./computes 2>err </dev/null &
collector=$!
computed() { # instructions in chunks of loops, by thread; a recording that is being written is read up to its last whole chunk
	"$TW" info --json c.tw 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["instructions"])' 2>/dev/null || echo 0
}
until n=$(computed) && [ "$n" -gt 100000000 ]; do sleep 0.1; done
kill -KILL $collector
wait $collector 2>/dev/null
printf '\1' >flag
"$TW" dump --blocks --last 2 c.tw >last 2>dump.err || fail "dump: $(cat dump.err)"
[ "$(cut -d' ' -f1 last | sort -u | wc -l)" = 2 ] || fail "one of the two threads is not on disk: $(cat last)"
