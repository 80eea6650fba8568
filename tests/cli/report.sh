# info and report: valid JSON with the promised keys, functions by name, percentages, 80 columns.
. "$(dirname "$0")/../lib.sh"
cc_program busy -O1 -fno-inline -no-pie <<'END'
#include <stdio.h>
static int table[1024];
__attribute__((noinline)) void very_hot_function(int n)
{
	for (int i = 0; i < n; i++)
		table[i & 1023] += i;
}
__attribute__((noinline)) void rather_warm_function(int n)
{
	for (int i = 0; i < n; i++)
		table[i & 15] ^= i;
}
int main(void)
{
	very_hot_function(2000000);
	rather_warm_function(200000);
	printf("%d\n", table[5]);
	return 0;
}
END
recorded ./busy
"$TW" report recording.tw >report.out || fail "report"
grep -n very_hot_function report.out | head -n 1 | cut -d : -f 1 >hot
grep -n rather_warm_function report.out | head -n 1 | cut -d : -f 1 >warm
[ -s hot ] && [ -s warm ] || fail "report does not name the functions"
[ "$(cat hot)" -lt "$(cat warm)" ] || fail "report does not have the hottest function first"
grep very_hot_function report.out | head -n 1 | grep -qE '(8[0-9]|9[0-9])(\.[0-9]+)? *%' || fail "very_hot_function has not most of the instructions: $(grep very_hot report.out | head -n 1)"
grep -q 'busy\.c:[0-9]' report.out || fail "report has no source lines"
"$TW" info recording.tw >info.out || fail "info"
grep -q busy info.out || fail "info does not name the program"
"$TW" info --json recording.tw | python3 -c '
import json, sys
d = json.load(sys.stdin)
for k in "instructions blocks refs reads writes raw_bytes stored_bytes threads".split():
    assert isinstance(d[k], int), k
assert d["instructions"] > 10000000 and d["blocks"] > 2000000 and d["refs"] > 2000000, d
assert d["reads"] + d["writes"] >= d["refs"] and d["threads"] == 1, d
assert 0 < d["stored_bytes"] < d["raw_bytes"], d
' || fail "info --json"
# names that need quoting
cp busy $'odd "name"\n\t\\'
"$TW" record -q -o odd.tw -- $'./odd "name"\n\t\\' $'\x01\xff' >/dev/null || fail "an odd name"
"$TW" info --json odd.tw | python3 -c 'import json, sys; json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))' || fail "info --json of an odd name"
"$TW" info odd.tw >/dev/null && "$TW" report odd.tw >/dev/null || fail "info or report of an odd name"
# a program that is gone since: no symbols, but a report
rm busy
"$TW" report recording.tw >gone.out || fail "report without the program"

# Two programs at the same addresses, one after the other in one process: code goes by the names of the program it was part of.
for name in first second; do
	cc_program $name -O1 -fno-inline -no-pie -Dwork=work_of_$name -DNEXT=\"./second\" <<'END'
#include <string.h>
#include <unistd.h>
volatile int sink;
__attribute__((noinline)) void work(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}
int main(int argc, char **argv)
{
	work(argc > 1 ? 100000 : 50000);
	return argc > 1 ? execl(NEXT, NEXT, NULL) : 0;
}
END
done
recorded ./first exec
"$TW" report --functions recording.tw >exec.out || fail "report after execve"
grep -q 'work_of_first' exec.out && grep -q 'work_of_second' exec.out || fail "report does not tell the programs of a process apart"

# A program that was built anew since: its names would be those of other functions.
build() { # build FLAG...
	cc_program anew -O1 -fno-inline "$@" <<'END'
volatile int sink;
#ifdef ANEW
void other(int n)
{
	for (int i = 0; i < 3 * n; i++)
		sink += i * n;
}
#endif
void work(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}
int main(void)
{
	work(100000);
	return 0;
}
END
}
build
RECORD_OPTIONS+=(--names=later)
recorded ./anew
"$TW" report --functions recording.tw >anew.out 2>anew.err || fail "report of a program as it was"
grep -q ' work' anew.out && [ ! -s anew.err ] || fail "a program as it was: $(cat anew.err)"
build -DANEW
"$TW" report --functions recording.tw >anew.out 2>anew.err || fail "report of a program built anew"
grep -q 'anew gives no names: the file has changed since it was recorded' anew.err || fail "report does not say that the program has changed"
! grep -qE ' (other|work|main)\b' anew.out || fail "report takes names from a program that has changed"
