# report: self and inclusive costs, callers and callees, lines with their text, strides, filters; JSON and CSV complete; names never cut in a pipe.
. "$(dirname "$0")/../lib.sh"
need_command g++ python3
cat >work.cc <<'END_CXX'
#include <csetjmp>
#include <stdexcept>
namespace a_rather_long_name_of_a_namespace {
template <class A, class B, class C> struct and_a_template_with_parameters {
	static __attribute__((noinline)) long run(long n) { volatile long s = 0; for (long i = 0; i < n; i++) s = s + i; return s; }
};
}
static volatile int matrix[512][512];
static inline __attribute__((always_inline)) int inlined_sum(int i, int n)
{
	int s = 0;
	for (int j = 0; j < n; j++)
		s += matrix[i][j]; /* along a row */
	return s;
}
__attribute__((noinline)) int rows(void)
{
	int s = 0;
	for (int i = 0; i < 512; i++)
		s += inlined_sum(i, 512);
	return s;
}
__attribute__((noinline)) int columns(void)
{
	int s = 0;
	for (int j = 0; j < 512; j++)
		for (int i = 0; i < 512; i++)
			s += matrix[i][j]; /* down a column */
	return s;
}
__attribute__((noinline)) int down(int n)
{
	if (!n)
		throw std::runtime_error("up");
	return down(n - 1) + 1;
}
__attribute__((noinline)) int recurse(int n)
{
	try {
		return n ? recurse(n - 1) + rows() : down(5);
	} catch (const std::exception &) {
		return columns();
	}
}
int main()
{
	long s = a_rather_long_name_of_a_namespace::and_a_template_with_parameters<long, unsigned long long, unsigned char>::run(20000);
	return (recurse(3) + s) & 0;
}
END_CXX
g++ -O1 -g -o work work.cc || fail "work.cc does not compile"
recorded ./work
"$TW" report recording.tw >report.out || fail "report"
grep -q 'and_a_template_with_parameters<long, unsigned long long, unsigned char>::run(long) work.cc:5$' report.out || fail "a name is cut in a pipe"
"$TW" report --json recording.tw >report.json || fail "report --json"
"$TW" report --csv recording.tw >report.csv || fail "report --csv"
"$TW" report --json -n 3 recording.tw >three.json
"$TW" report --json --lines recording.tw >lines.json || fail "report --lines"
"$TW" report --json --memory recording.tw >memory.json || fail "report --memory"
"$TW" report --json --callers rows recording.tw >callers.json || fail "report --callers"
"$TW" report --json --callees recurse recording.tw >callees.json || fail "report --callees"
"$TW" report --json --self recording.tw >self.json || fail "report --self"
"$TW" report --json --blocks recording.tw >blocks.json || fail "report --blocks"
"$TW" info --json recording.tw >info.json
python3 - <<'END_PYTHON' || fail "the tables are not right"
import csv, json
load = lambda name: json.load(open(name + ".json"))
report, info = load("report"), load("info")
f = {x["function"]: x for x in report["functions"]}
assert report["functions_total"] == len(report["functions"]) > 100
three = load("three")
assert len(three["functions"]) == 3 and three["functions_total"] == len(report["functions"])
rows = list(csv.DictReader(open("report.csv")))
assert [int(r["instructions"]) for r in rows] == [x["instructions"] for x in report["functions"]]

# what all functions do by themselves is all there is
for key, total in ("instructions", "instructions"), ("refs", "refs"), ("reads", "reads"), ("writes", "writes"):
    assert sum(x[key] for x in report["functions"]) == info[total] == report["totals"][key], key
both = {x["function"]: x for x in load("self")["functions"]}
for name in "rows()", "columns()": # who calls through a PLT is charged for its stubs
    for key in "instructions", "refs", "reads", "writes":
        assert f[name][key] == both[name][key], (name, key)

# inclusive: once however deep it recurses, and through an exception
assert f["rows()"]["calls"] == 3 and f["columns()"]["calls"] == 1 and f["recurse(int)"]["calls"] == 4
inside = f["rows()"]["instructions"] + f["columns()"]["instructions"] + f["recurse(int)"]["instructions"]
assert inside < f["recurse(int)"]["inclusive_instructions"] < f["main"]["inclusive_instructions"]
assert f["main"]["inclusive_instructions"] < info["instructions"]
assert f["rows()"]["inclusive_instructions"] == f["rows()"]["instructions"]
callers, callees = load("callers")["callers"], load("callees")["callees"]
assert [(c["function"], c["calls"]) for c in callers] == [("recurse(int)", 3)], callers
calls = {c["function"]: c["calls"] for c in callees}
assert calls["rows()"] == 3 and calls["columns()"] == 1 and calls["down(int)"] == 1 and calls["recurse(int)"] == 3, calls

# lines: an inlined function under its own name, with its text
lines = load("lines")["lines"]
assert sum(x["instructions"] for x in lines) == info["instructions"]
row = [x for x in lines if x.get("text", "").startswith("s += matrix[i][j]; /* along a row */")]
assert row and row[0]["function"].startswith("inlined_sum") and row[0]["refs"] >= 3 * 512 * 512, row

# strides: a row is not a column
memory = {x.get("line"): x for x in load("memory")["memory"] if x.get("file", "").endswith("work.cc")}
along, down = memory[13], memory[28]
assert along["stride"] == 4 and down["stride"] == 2048, (along, down)
assert along["refs"] == 3 * 512 * 512 and along["bytes"] == 4 * along["refs"] and along["cache_lines"] == 512 * 512 * 4 // 64, along
assert down["cache_lines"] == along["cache_lines"] and down["strides_like_it"] > 500 * 512
assert sum(b["instructions"] for b in load("blocks")["blocks"]) == info["instructions"]
END_PYTHON

# Which part: a module, a function, a thread, instructions.
"$TW" report --csv --module work recording.tw | tail -n +2 | awk -F , '$0 !~ /,work,/ { exit 1 }' || fail "--module shows other files"
[ "$("$TW" report --csv --function rows recording.tw | wc -l)" = 2 ] || fail "--function"
"$TW" report --json --thread 0 recording.tw | python3 -c 'import json, sys; a = json.load(sys.stdin); assert a["totals"]["instructions"] == json.load(open("info.json"))["instructions"]' || fail "--thread 0"
# blocks executed are those of the part too, or left out
blocks_of() # OPTION...
{
	"$TW" report --json "$@" recording.tw | python3 -c 'import json, sys; print(json.load(sys.stdin)["totals"].get("blocks", "unknown"))'
}
all=$(python3 -c 'import json; print(json.load(open("info.json"))["blocks"])')
[ "$(blocks_of)" = "$all" ] && [ "$(blocks_of --self)" = "$all" ] || fail "blocks executed: $(blocks_of), $(blocks_of --self), not $all"
some=$(blocks_of --self --from 1ki --to 50ki)
[ "$some" -gt 5000 ] && [ "$some" -lt 50000 ] || fail "blocks executed of a part: $some"
[ "$(blocks_of --from 1ki --to 50ki)" = unknown ] || fail "blocks executed of a part, not counted: $(blocks_of --from 1ki --to 50ki)"
"$TW" report --json --from 1ki --to 50ki recording.tw | python3 -c 'import json, sys; n = json.load(sys.stdin)["totals"]["instructions"]; assert 48000 <= n <= 50000, n' || fail "--from and --to"
"$TW" report --json --sort refs recording.tw | python3 -c 'import json, sys; r = [f["refs"] for f in json.load(sys.stdin)["functions"]]; assert r == sorted(r, reverse=True)' || fail "--sort refs"
one_sentence "$TW" report --thread 9 recording.tw
says 'no thread 9'
one_sentence "$TW" report --callers nothing_like_it recording.tw
says 'no function nothing_like_it'
one_sentence "$TW" report --sort color recording.tw
says 'wants self, incl'
one_sentence "$TW" report --process 1234567 recording.tw
says 'no process'

# blocks counts string instructions that repeat each time, and says how many instructions that are as report counts them.
cc_program copies <<'END_C'
#include <string.h>
static char from[1000], to[1000];
int main(void)
{
	void *d = to, *s = from;
	unsigned long n = sizeof from;
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
	return 0;
}
END_C
recorded ./copies
once=$("$TW" report --json recording.tw | python3 -c 'import json, sys; print(json.load(sys.stdin)["totals"]["instructions"])')
"$TW" blocks recording.tw | grep -q "^($once as report counts them" || fail "blocks and report do not agree on the number of instructions: $once, $("$TW" blocks recording.tw | head -n 2)"

# -n says how many there are in CSV, too, beside the table; a function or file of which nothing ran is told.
"$TW" report --csv -n 2 recording.tw 2>said | wc -l | grep -qx 3 && grep -qE '^2 rows of [0-9]+$' said || fail "--csv -n 2: $(cat said)"
for option in '--function nosuch' '--module nosuch' '--lines --function nosuch' '--tree --function nosuch'; do
	# shellcheck disable=SC2086
	"$TW" report $option recording.tw >out 2>said && fail "$option: status 0"
	grep -qE '(there is no function nosuch|no code of a file nosuch ran)$' said || fail "$option: $(cat said)"
done

# What would be left aside is refused.
for option in '--last 3 --tree' '--last 3 --csv' '--last 3 --sort refs' '--tree --sort calls' '--callers rows --sort name' '--memory --sort refs'; do
	# shellcheck disable=SC2086
	one_sentence "$TW" report $option recording.tw
done
