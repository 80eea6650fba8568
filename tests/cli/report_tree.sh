# report --tree: each function stands below the one that called it, over recursion, exceptions and longjmp; all counts add up; parts of a recording; text, JSON and CSV.
. "$(dirname "$0")/../lib.sh"
need_command g++ python3
cat >calls.cc <<'END_CXX'
#include <csetjmp>
#include <stdexcept>
static jmp_buf out;
static volatile int sink;
#define NOINLINE extern "C" __attribute__((noinline))
NOINLINE int thrower(int n)
{
	if (!n)
		throw std::runtime_error("up");
	return thrower(n - 1) + 1;
}
NOINLINE int catcher(void)
{
	try {
		return thrower(3);
	} catch (const std::exception &) {
		for (int i = 0; i < 5000; i++) /* after the exception, in this function again */
			sink = i;
	}
	return 1;
}
NOINLINE int jumper(int n)
{
	if (!n)
		longjmp(out, 1);
	return jumper(n - 1) + 1;
}
NOINLINE int setter(void)
{
	if (!setjmp(out))
		return jumper(4);
	for (int i = 0; i < 5000; i++)
		sink = i;
	return 1;
}
NOINLINE int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
int main(int argc, char **)
{
	int s = argc > 1 ? fib(28) : 0;
	for (int i = 0; i < 3; i++)
		s += catcher() + setter();
	return (s + fib(10)) & 0;
}
END_CXX
g++ -O1 -g -fno-optimize-sibling-calls -o calls calls.cc || fail "calls.cc does not compile"
recorded ./calls
"$TW" report --tree --json recording.tw >tree.json || fail "report --tree --json"
"$TW" report --tree --csv recording.tw >tree.csv || fail "report --tree --csv"
"$TW" report --tree --json --function main recording.tw >main.json || fail "--function"
"$TW" report --tree --json -n 7 recording.tw >seven.json || fail "-n"
"$TW" report --tree --json --to 20000i recording.tw >part.json || fail "--to"
"$TW" report --tree -n 7 recording.tw >text || fail "report --tree"
python3 - <<'END_PYTHON' || fail "the tree is not right"
import csv, json
load = lambda name: json.load(open(name + ".json"))
tree, main = load("tree"), load("main")["tree"]

def paths(rows): # of each path of names its row, and the sum of what stands right below it
    stack, found, below = [], {}, {}
    for r in rows:
        stack = stack[:r["depth"]] + [r["function"] if r["module"] == "calls" else r["function"] + " " + r["module"]]
        key = tuple(stack)
        assert len(stack) == r["depth"] + 1, r
        found.setdefault(key, []).append(r)
        below[key[:-1]] = below.get(key[:-1], 0) + r["inclusive_instructions"]
    return found, below

rows = tree["tree"]
assert tree["tree_total"] == len(rows)
assert sum(r["instructions"] for r in rows) == tree["totals"]["instructions"]
assert sum(r["refs"] for r in rows) == tree["totals"]["refs"]
found, below = paths(main)
for path, (row,) in found.items():
    assert row["inclusive_instructions"] == row["instructions"] + below.get(path, 0), path
one = lambda *path: found[("main",) + path][0]
throws, jumps = ["thrower"] * 4, ["jumper"] * 5
assert one("catcher")["calls"] == one("setter")["calls"] == 3
assert one("catcher")["instructions"] >= 3 * 5000 * 3, "what follows an exception is not where it was caught"
assert one("setter")["instructions"] >= 3 * 5000 * 3, "what follows a longjmp is not where it led"
for n in range(1, 5):
    assert one("catcher", *throws[:n])["calls"] == 3
for n in range(1, 6):
    assert one("setter", *jumps[:n])["calls"] == 3
assert ("main", "setter", *jumps, "jumper") not in found
fibs = [r for p, (r,) in found.items() if p[-1] == "fib"]
assert sum(r["calls"] for r in fibs) == 177 and max(r["depth"] for r in fibs) == 10
assert [r["calls"] for r in fibs if r["depth"] == 2] == [2]

seven = load("seven")
assert len(seven["tree"]) == 7 and seven["tree_total"] == len(rows)
assert {json.dumps(r) for r in seven["tree"]} <= {json.dumps(r) for r in rows}
assert min(r["inclusive_instructions"] for r in seven["tree"]) >= sorted((r["inclusive_instructions"] for r in rows), reverse=True)[6]
text = open("text").read().split("\n")
assert any(l.endswith("... and %d more (-n 0 shows all)" % (len(rows) - 7)) for l in text), text
assert [r["function"] for r in csv.DictReader(open("tree.csv"))] == [r["function"] for r in rows]
part = load("part")
assert sum(r["instructions"] for r in part["tree"]) == part["totals"]["instructions"] < 21000 < tree["totals"]["instructions"]
END_PYTHON

# A long run is in many chunks, which are replayed at once where that may be: not for a tree.
RECORD_OPTIONS=(--hot=0 --ring=1G) # small chunks
recorded ./calls long
RECORD_OPTIONS=()
[ "$(info_value chunks recording.tw)" -gt 2 ] || fail "there are too few chunks for this test"
for jobs in 1 2 3; do
	"$TW" report --tree -n 0 -j $jobs recording.tw >tree.$jobs || fail "report --tree -j $jobs"
	cmp tree.1 tree.$jobs || fail "with -j $jobs the tree is another one"
done
# Each of two calls in a function makes two more: contexts are as many as there are levels, not as there are calls.
"$TW" report --tree --json -n 0 recording.tw >long.json || fail "report --tree --json of the long run"
"$TW" record -q --with=cct,least=0,json,output=live.json ./calls long || fail "--with=cct of the long run"
python3 - <<'END_PYTHON' || fail "the levels of a recursion"
import collections, json

at, wanted = {28: 1, 10: 1}, []  # calls of fib(n) on a level
while at:
    wanted.append(sum(at.values()))
    below = collections.Counter()
    for n, calls in at.items():
        below.update({n - 1: calls, n - 2: calls} if n > 1 else {})
    at = below
for name, key in ("long", "tree"), ("live", "contexts"):
    rows = json.load(open(name + ".json"))[key]
    found = [r["calls"] for r in rows if r["function"].strip() == "fib"]
    assert found == wanted, (name, found, wanted)
END_PYTHON
"$TW" report --tree --callers fib recording.tw >said 2>&1 && fail "--tree and --callers"
grep -q -- '--tree' said || fail "$(cat said)"
"$TW" report --tree --no-demangle recording.tw -n 0 | grep -q '__cxa_throw' || fail "--no-demangle"
