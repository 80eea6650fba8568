# A collector that is killed costs little of what a program that does little did: what it wrote is stored after a moment, not only when a buffer is full.
. "$(dirname "$0")/../lib.sh"
cc_program slow <<'END_C'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 2000 && access("stop", F_OK); i++) {
		printf("%d\n", i);
		fflush(stdout);
		usleep(10000);
	}
	return 0;
}
END_C
"$TW" record -q -o r.tw "${RECORD_OPTIONS[@]}" -- ./slow >out 2>err </dev/null &
collector=$!
for _ in $(seq 600); do [ "$(wc -l <out)" -ge 200 ] && break; sleep 0.1; done
lines=$(wc -l <out)
[ "$lines" -ge 200 ] || fail "the program did not start"
kill -KILL $collector
wait $collector 2>/dev/null
: >stop
"$TW" dump --raw r.tw >raw 2>dump.err
stored=$(grep -c '^  event syscall 1 1 ' raw) # write(1, ...)
[ "$stored" -ge $((lines - 100)) ] || fail "of $lines lines that were written $stored are in the recording: $(cat dump.err)"
"$TW" info r.tw >info.out && grep -q '^state *incomplete' info.out || fail "info does not say that the recording is incomplete"
