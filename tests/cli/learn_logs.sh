# record --log: by the logs of DIME* what a block leads to is not told when a run before knew the block; by ours it is. In one run each tells all.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program ways -O1 <<'END'
#include <stdlib.h>
__attribute__((noipa)) static int one(int n) { return n * 3; }
__attribute__((noipa)) static int two(int n) { return n ^ 5; }
int main(int argc, char **argv)
{
	static int (*const way[])(int) = {one, two};
	int sum = 0;
	for (int i = 1; i < argc; i++)
		sum += way[atoi(argv[i])](i);
	return sum != 0 ? 7 : 8;
}
END
"$TW" record -q -f dep-c -o whole.tw ./ways 0 1
learned() { # learned FILE KIND FUNCTION: how many facts of this kind are known of the function, and how many there are
	[ -f "$1.json" ] || "$TW" coverage --json --against whole.tw "$1" >"$1.json"
	python3 -c '
import json, sys
r = [r for r in json.load(open(sys.argv[1] + ".json"))["functions"] if r["function"] == sys.argv[3] and r["module"].endswith("/ways")][0]
print(r[sys.argv[2] + "_learned"], r[sys.argv[2]])' "$@"
}
for log in exact hash tree merging; do
	"$TW" record -q "--log=$log" "--learn=once.$log" ./ways 0 1
	[ $? = 7 ] || fail "--log=$log: exit status"
	for function in main one two; do
		read -r known all <<<"$(learned "once.$log" blocks $function)"
		[ "$known" = "$all" ] || fail "--log=$log: in one run $known of $all blocks of $function are learned"
	done
	read -r known all <<<"$(learned "once.$log" calls main)"
	[ "$known" = "$all" ] || fail "--log=$log: in one run $known of $all calls of main are learned"
	"$TW" record -q "--log=$log" "--learn=twice.$log" ./ways 0
	"$TW" record -q "--log=$log" "--learn=twice.$log" ./ways 1
	read -r known all <<<"$(learned "twice.$log" blocks two)"
	[ "$known" = "$all" ] || fail "--log=$log: of code that is new in the second run $known of $all blocks are learned"
done
read -r known all <<<"$(learned twice.exact calls main)"
[ "$known" = "$all" ] || fail "the call that the second run makes first is not learned: $known of $all"
for log in hash tree; do
	read -r known all <<<"$(learned twice.$log calls main)"
	[ "$known" -lt "$all" ] || fail "--log=$log learns what a known block does"
done
record_refused "--log wants exact, hash, tree or merging, not 'list'" --learn=x --log=list
record_refused "--learn is required for '--log'" --log=hash
record_refused "--log wants exact when something is recorded, not 'hash'" --log=hash --learn=x -f dep-c
