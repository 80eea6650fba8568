# What was not recorded in between - outside of a window, or of a budget, or dropped by a ring - leaves no call, no edge and no path that never was: what comes next does not follow what came before.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program steps -O1 -fno-optimize-sibling-calls <<'END'
#include <stdio.h>
static volatile unsigned table[1 << 12];
#define STEP __attribute__((noipa)) static unsigned
STEP leaf(unsigned x, int n)
{
	for (int i = 0; i < n; i++) {
		x = x * 1664525 + table[x >> 20] + 1013904223;
		table[x >> 20] += x;
	}
	return x;
}
STEP sum(unsigned x, int n) { for (int i = 0; i < n; i++) x += table[i]; return x; }
STEP one(unsigned x) { x = leaf(x, 300); return x + 1; }
STEP two(unsigned x) { x = leaf(x, 200); return sum(x, 50) + 2; }
STEP both(unsigned x) { x = one(x); x = sum(x, 90); x = two(x); return x + 2; }
STEP second(unsigned x) { x = two(x); x = sum(x, 90); return x + 3; }
STEP none(unsigned x) { return sum(x, 190) + 3; }
int main(void)
{
	unsigned x = 1;
	for (int turn = 0; turn < 6000; turn++)
		x = turn % 3 == 0 ? both(x) : turn % 3 == 1 ? second(x) : none(x);
	printf("%u\n", x);
	return 0;
}
END
shown() { # shown NAME OPTION...: a recording, and what is shown of it
	local name=$1
	shift
	"$TW" record -q -o "$name.tw" "$@" ./steps >out 2>err || fail "record $*: $(cat err)"
	"$TW" report --tree --json -n 0 "$name.tw" >"$name.tree" && "$TW" report --json -n 0 "$name.tw" >"$name.report" && "$TW" blocks --json "$name.tw" >"$name.blocks" || fail "$name.tw cannot be shown"
}
shown whole
shown window --start=one --stop=second
shown budget --budget=10% --period=10ms
shown ring --ring=100k
shown control --start=one --stop=second -f dep-c
python3 - <<'END' || fail "something is shown that never was"
import json
NAMES = {"main", "both", "second", "none", "one", "two", "leaf", "sum"}

def look(name):
    """Calls and ways between the program's own functions, and what each cost with what it called."""
    load = lambda kind: json.load(open(name + "." + kind))
    tree, report, blocks = load("tree"), load("report"), load("blocks")
    calls, stack = {}, []
    for r in tree["tree"]:
        stack = stack[:r["depth"]] + [r["function"]]
        pair = tuple(stack[-2:])
        if set(pair) <= NAMES:
            calls[pair] = calls.get(pair, 0) + r["calls"]
    missing = tree["totals"]["instructions"] - sum(r["instructions"] for r in tree["tree"])
    assert tree["totals"]["instructions"] > 0 and missing == 0, (name, missing)
    of = {b["id"]: b["function"] for b in blocks["dynamic"]}
    ways = {(of[b["id"]], of[e["to"]]) for b in blocks["dynamic"] for e in b["edges"]}
    costs = {r["function"]: (r["instructions"], r["inclusive_instructions"]) for r in report["functions"] if r["function"] in NAMES}
    return calls, {w for w in ways if set(w) <= NAMES}, costs

calls, ways, costs = look("whole")
assert calls["both", "one"] == 2000 and ("one", "leaf") in ways
for name in "window", "budget", "ring", "control":
    c, w, k = look(name)
    pairs = {p for p in c if len(p) == 2}
    assert pairs <= set(calls), (name, pairs - set(calls))
    assert w <= ways, (name, w - ways)
    assert all(c[p] <= calls[p] for p in pairs), name
    for f, (own, all_of_it) in k.items(): # a function with all that it calls is known from the calls that are there
        assert own <= all_of_it <= costs[f][1], (name, f, own, all_of_it)
    if name in ("window", "control"):
        assert c["one", "leaf"] == c["both", "two"] == c["two", "leaf"] == 2000 and ("main",) in c
        assert k["second"][1] == 0 if "second" in k else True
        assert k["both"][1] < costs["both"][1] - costs["one"][1] + 2000 * 20, (name, k["both"], "has what one cost, which was called before")
END

# What begins in a stub of the PLT, which belongs to whoever called it, is in a context too.
"$TW" dump --blocks whole.tw | awk '$4 == "ijump" && $3 == 1 { print n } { n += $3 }' | sed -n '1p;5p;9p;$p' >stubs
[ -s stubs ] || skip "no stub ran"
depth_of_main() { sed -n 's/;main [0-9]*$//p' "$1" | tr -cd '\n;' | awk '{ print length; exit }'; }
"$TW" analyze cct --folded whole.tw >folded || fail "analyze cct"
whole=$(depth_of_main folded)
while read -r before; do
	"$TW" analyze cct --folded --from "${before}i" whole.tw >folded || fail "analyze cct --from $before"
	[ "$(awk -v n="$before" '{ n += $NF } END { print n }' folded)" = "$(info_value instructions whole.tw)" ] || fail "from instruction $before on not all instructions are in the tree"
	depth=$(depth_of_main folded)
	[ -z "$depth" ] || [ "$depth" -le "$whole" ] || fail "from instruction $before on main stands below what ran first: $(grep ';main ' folded)"
done <stubs
