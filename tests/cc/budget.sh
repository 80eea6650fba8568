# --budget and --learn of a program in two versions: what is left out is told, what is learned is no more than what ran, and figures stand where others do.
. "$(dirname "$0")/../cc.sh"
need_command gcc
cat >a.c <<'X'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern volatile unsigned char trackway_cc_switch[] __attribute__((weak, visibility("hidden")));
static volatile long calls, handled;
static int less(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static int step(int n)
{
	calls++;
	return n % 7 ? n ^ 5 : n + 3;
}
__attribute__((noinline)) static int sorted(void)
{
	int v[40];
	for (int k = 0; k < 40; k++)
		v[k] = k * 37 % 40;
	qsort(v, 40, sizeof *v, less);
	return v[7];
}
static void handle(int number)
{
	handled += step(number);
}
/* Goes on until recording has been switched on so often. */
static void *work(void *times)
{
	const int wanted = (int)(long)times;
	int seen = 0, last = -1;
	long sum = 0;
	for (int k = 0; k < 20 || seen < wanted; k = k < 20 ? k + 1 : 0) {
		for (int n = 0; n < 500; n++)
			sum += step(n);
		sum += sorted();
		const int now = trackway_cc_switch ? trackway_cc_switch[0] : 1;
		seen += now && now != last;
		last = now;
		if (!wanted && k == 19)
			break;
	}
	return (void *)sum;
}
int main(int argc, char **argv)
{
	const long times = argc > 1 ? atol(argv[1]) : 0;
	pthread_t other;
	signal(SIGUSR1, handle);
	if (argc > 2) {
		pthread_create(&other, NULL, work, (void *)times);
		raise(SIGUSR1);
	}
	work((void *)times);
	if (argc > 2)
		pthread_join(other, NULL);
	fprintf(stderr, "%ld\n", calls);
	return handled > 1000000;
}
X
"$TW" cc --switchable gcc -O2 a.c -o a -pthread || fail "a.c: --switchable"
"$TW" cc gcc -O2 a.c -o one -pthread || fail "a.c"

# Within a budget: gaps have the reason, something is recorded, and not all of it.
sql() { "$TW" sql --csv recording.tw "$1" | tail -n 1; }
rm -rf recording.tw
timeout 100 "$TW" record -q -o recording.tw --budget=5% --period=20ms ./a 4 both 2>/dev/null || fail "--budget: status $?"
check_good
"$TW" info recording.tw | grep -q '^budget  *5% in each period of 20ms$' || fail "info: the budget"
"$TW" info --json recording.tw | grep -q '"budget": *{' || fail "info --json: the budget"
[ "$(sql 'select min(budget) from windows')" = 1 ] || fail "windows: the reason"
[ "$(sql 'select count(distinct thread) from windows where open')" -ge 2 ] || fail "windows: not of each thread"
[ "$(sql 'select max(n) from (select count(*) n from windows where open group by thread)')" -ge 3 ] || fail "windows: not each time"
blocks() { "$TW" info recording.tw | awk '$1 == "blocks" { print $2 }'; }
[ "$(blocks)" -gt 100 ] || fail "--budget: $(blocks) blocks recorded"
rm -rf recording.tw
timeout 100 "$TW" record -q -o recording.tw --sink=count --budget=1ms --period=20ms ./a 3 both 2>/dev/null || fail "--sink=count: status $?"
[ "$(blocks)" -gt 100 ] || fail "--sink=count: $(blocks) blocks recorded"

# What is learned: as much in two versions as in one; within a budget nothing else. qsort calls back: that is no edge of the program's.
learned() { "$TW" learn "$1" | awk '$NF == "all" { print $2, $3, $4 }'; }
"$TW" record -q --learn=two.learn ./a 2>/dev/null || fail "--learn: status $?"
"$TW" record -q --learn=one.learn ./one 2>/dev/null || fail "--learn, one version: status $?"
[ -n "$(learned two.learn)" ] && [ "$(learned two.learn)" = "$(learned one.learn)" ] || fail "learned: $(learned two.learn) and $(learned one.learn)"
"$TW" record -q --learn=both.learn ./a 0 both 2>/dev/null || fail "--learn: status $?"
timeout 100 "$TW" record -q --learn=some.learn --budget=5% --period=20ms ./a 4 both 2>/dev/null || fail "--learn --budget: status $?"
learned some.learn | awk '$1 < 5 || $2 < 5 { exit 1 }' || fail "--learn --budget: $(learned some.learn)"
timeout 100 "$TW" record --learn=both.learn --budget=5% --period=20ms ./a 1 both 2>said >/dev/null || fail "--learn --budget: status $?"
grep -q 'calls (0 new)' said || fail "--learn --budget: $(cat said)"

# What cannot be done is said.
one_sentence "$TW" record --budget=10% ./one
says "trackway cc --switchable is required for '--budget'"
one_sentence "$TW" record --budget=10% --budget-per=thread ./a
says "the whole program's"
one_sentence "$TW" record --budget=10% --burst=1ms --every=1s ./a
says "the whole program's"
