# A thread that still runs when main returns is cut off at exit: no gap, nothing is missing but what it would have gone on to do, and all commands say it in the same words.
. "$(dirname "$0")/../lib.sh"
cc_program alive -pthread <<-'END_C'
	#include <pthread.h>
	static volatile unsigned long turns;
	static void *turn(void *unused)
	{
		for (;;)
			turns++;
		return unused;
	}
	int main(void)
	{
		pthread_t thread;
		pthread_create(&thread, 0, turn, 0);
		while (turns < 100000)
			;
		return 3;
	}
END_C
words='1 thread was cut off at exit'
"$TW" record -o alive.tw ./alive 2>summary
[ $? = 3 ] || fail "record: not the program's status"
grep -q "$words" summary || fail "the summary says: $(cat summary)"
"$TW" check alive.tw >check.out || fail "check complains: $(cat check.out)"
grep -q "good" check.out && grep -q "$words" check.out || fail "check says: $(cat check.out)"
"$TW" report alive.tw | grep -q "$words" || fail "report does not say it"
"$TW" info alive.tw | grep -qE '^cut off at exit +1$' || fail "info does not say it"
[ "$(info_value gaps alive.tw)" = 0 ] || fail "it counts as a gap"
[ "$(info_value cut_at_exit alive.tw)" = 1 ] || fail "info --json does not say it"
! "$TW" report alive.tw | grep -qi gap || fail "report speaks of gaps"
# All its turns are there: nearly as many references as the loop makes before main sees the last one.
"$TW" sql --csv alive.tw "select count(*) >= 100000 from refs where thread = 1 and type <> 'R'" | tail -n 1 | grep -qx 1 || fail "turns of the thread are missing"

"$TW" record -o true.tw true 2>summary
! grep -q "cut off" summary || fail "a program without threads: $(cat summary)"
[ "$(info_value cut_at_exit true.tw)" = 0 ] || fail "a program without threads counts one"
