# report and analyze of a function that is there and did not run, that is inlined everywhere, that goes by another name, that is not there.
. "$(dirname "$0")/../lib.sh"
need_command python3
cat >idle.c <<'END_C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int never_run(int x) { return x * 3 + 1; }
static inline __attribute__((always_inline)) int always_inlined(int x) { return x * 7 + getenv("HOME")[0]; }
__attribute__((noinline)) int does_run(int x) { return x + 1; }
int other_name(int x) __attribute__((alias("does_run")));
int main(int argc, char **argv)
{
	volatile int s = 0;
	for (int i = 0; i < 1000; i++)
		s = does_run(s);
	if (argc > 5)
		s = never_run(s) + always_inlined(s);
	return argv[0] == NULL;
}
END_C
cc -O1 -g -o idle idle.c
recorded ./idle

# says TEXT OPTION...: status 0, the text as its last line, nothing on stderr; and in JSON.
says() {
	local text=$1
	shift
	"$TW" report "$@" recording.tw >out 2>err || fail "$*: $(cat err)"
	[ ! -s err ] || fail "$*: says $(cat err)"
	tail -n 1 out | grep -q "^$text" || fail "$*: $(cat out)"
	grep -q ' function$' out && fail "$*: an empty table"
	"$TW" report "$@" --json recording.tw | python3 -c 'import json, sys; o = json.load(sys.stdin); assert o["absent"].startswith(sys.argv[1]), o' "$text" || fail "$*: JSON"
}
for table in --functions --lines --memory --blocks --tree --self; do says 'never_run is in idle (idle.c:3), and was not executed' $table --function never_run; done
says 'never_run is in idle (idle.c:3), and was not executed' --callers never_run
says 'never_run is in idle (idle.c:3), and was not executed' --callees never_run
says 'qsort is in libc.so.6' --function qsort --module libc
says 'always_inlined is inlined wherever idle calls it' --function always_inlined
says 'never_run is in idle' --callees never_run
last=$("$TW" report --json recording.tw | python3 -c 'import json, sys; print(json.load(sys.stdin)["totals"]["instructions"] - 1)')
says 'main of idle ran, but not in this part of the recording' --function main --from "${last}i"
other=does_run
"$TW" report --csv recording.tw | grep -q ',other_name,' || other=other_name
says "$other is another name of" --function $other

# A graph of it is an error, for the same reason.
"$TW" blocks --dot --function never_run recording.tw >out 2>err && fail "blocks --dot never_run: status 0"
grep -q 'never_run is in idle (idle.c:3), and was not executed$' err || fail "blocks --dot never_run: $(cat err)"
"$TW" blocks --dot --function does_rum recording.tw >out 2>err && fail "blocks --dot does_rum: status 0"
grep -q 'there is no function does_rum; names like it: does_run$' err || fail "blocks --dot does_rum: $(cat err)"
"$TW" blocks --dot --function does_run recording.tw | grep -q '^digraph' || fail "blocks --dot does_run"

# For programs a row of zeros, with where it is.
"$TW" report --csv --function never_run recording.tw >out || fail "--csv"
[ "$(wc -l <out)" = 2 ] && grep -qE '^(0,){9}never_run,idle,0x[0-9a-f]+,idle.c,3,$' out || fail "--csv: $(cat out)"
"$TW" report --csv --lines --function never_run recording.tw >out || fail "--lines --csv"
[ "$(wc -l <out)" = 2 ] && grep -qE '^0,0,0,0,never_run,idle,.*idle.c,3,' out || fail "--lines --csv: $(cat out)"

# A file by any of its names; one that was mapped and did not run.
"$TW" report -n 1 --module libc recording.tw | grep -q '^  *[0-9.]*% ' || fail "--module libc has no rows"
[ "$("$TW" report --csv --module libc recording.tw)" = "$("$TW" report --csv --module libc.so.6 recording.tw)" ] || fail "libc is not libc.so.6"
"$TW" analyze mix --module libc recording.tw >plain || fail "analyze --module libc"
"$TW" analyze mix --module libc.so.6 recording.tw | cmp - plain || fail "analyze: libc is not libc.so.6"

# What is not there at all is an error, and names like it are told.
"$TW" report --function does_rum recording.tw >out 2>err && fail "does_rum: status 0"
grep -q 'there is no function does_rum; names like it: does_run$' err || fail "does_rum: $(cat err)"
"$TW" analyze mix --function does_rum recording.tw >out 2>err && fail "analyze does_rum: status 0"
grep -q "'does_rum' does not occur in .*: there is no function does_rum; names like it: does_run$" err || fail "analyze does_rum: $(cat err)"
"$TW" analyze mix --function idle!never_run recording.tw >out 2>err && fail "analyze never_run: status 0"
grep -q 'never_run is in idle (idle.c:3), and was not executed$' err || fail "analyze never_run: $(cat err)"

# The file has gone: what it held is not known.
rm idle
"$TW" report --function never_run recording.tw >out 2>err && fail "without the file: status 0"
grep -q 'no function never_run ran; whether there is one is not known, since .*/*idle is missing or has changed' err || fail "without the file: $(cat err)"
