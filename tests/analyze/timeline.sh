# timeline: calls and their instructions are those of report and of the program's own counts; the call that waits and the call that computes stand out, at their time; the
# trace for Perfetto nests, and holds both; what is kept of many calls does not depend on -j.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program waits -O1 -pthread -fno-inline -fno-optimize-sibling-calls <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
static volatile long sink;
static jmp_buf out;
void work(long n) { for (long i = 0; i < n; i++) sink += i; }
void rest(long ms) { struct timespec t = {0, ms * 1000000}; nanosleep(&t, 0); }
void odd(int i) { work(i == 70 ? 50000 : 100); }
void late(int i) { if (i == 30) rest(120); work(50); }
void jumps(int i) { work(10); if (i % 2) longjmp(out, 1); }
void handler(int number) { work(number); }
long deep(long n) { return n ? n + deep(n - 1) : 0; }
void *run(void *p)
{
	for (int i = 0; i < 100; i++)
		odd(i);
	return p;
}
int main(void)
{
	pthread_t t;
	signal(SIGUSR1, handler);
	pthread_create(&t, 0, run, 0);
	pthread_join(t, 0);
	for (int i = 0; i < 60; i++)
		late(i);
	for (volatile int i = 0; i < 20; i++)
		if (!setjmp(out))
			jumps(i);
	for (int i = 0; i < 5; i++)
		raise(SIGUSR1);
	return printf("%ld\n", deep(40)) < 0;
}
END
RECORD_OPTIONS=(-o recording.tw)
whole ./waits
answer() { "$TW" analyze timeline "$@" recording.tw; }
answer --json --by time >time.json && answer --json >insns.json && "$TW" report --json recording.tw >report.json && answer --csv --calls >calls.csv || fail "timeline"
answer --perfetto >trace.json || fail "--perfetto"
cat >compare.py <<'END'
import csv, json
load = lambda name: json.load(open(name))
table = lambda name: {f["function"]: f for f in load(name)["functions"]}
by_time, by_insns = table("time.json"), table("insns.json")
for name, calls in (("odd", 100), ("late", 60), ("jumps", 20), ("work", 185), ("rest", 1), ("deep", 41), ("handler", 5), ("run", 1), ("main", 1)):
    assert by_time[name]["calls"] == by_insns[name]["calls"] == calls, (name, by_time[name])
# What each function's calls executed, and how often it was called: as report has it, which follows calls in another way.
report = {f["function"]: f for f in load("report.json")["functions"]}
for name in ("odd", "late", "work", "rest", "run"):
    f = report[name]
    assert by_insns[name]["calls"] == f["calls"], (name, f)
    assert by_insns[name]["mean_insns"] == f["inclusive_instructions"] // f["calls"], (name, by_insns[name], f)
handlers = 5 * by_insns["handler"]["mean_insns"] # are no part of main to report
assert 0 <= by_insns["main"]["mean_insns"] - report["main"]["inclusive_instructions"] - handlers < 200, (by_insns["main"], report["main"])
# The one that waited, the one that worked, and when.
late, odd = by_time["late"], by_insns["odd"]
assert late["longest_ns"] >= 119000000 and late["mean_ns"] < 30000000 and late["instructions"] < 5000, late
assert odd["longest_insns"] > 100 * 2000 and odd["mean_insns"] < odd["longest_insns"] // 20, odd
beyond = lambda name, longest, mean: [f[longest] - f[mean] for f in load(name)["functions"]]
for numbers in (beyond("time.json", "longest_ns", "mean_ns"), beyond("insns.json", "longest_insns", "mean_insns")):
    assert all(a >= b - 1 for a, b in zip(numbers, numbers[1:])), numbers
assert odd["thread"] == 1 and late["thread"] == 0
# Single calls.
calls = list(csv.DictReader(open("calls.csv")))
assert len([c for c in calls if c["function"] == "late"]) == 60
assert [float(c["at_us"]) for c in calls] == sorted(float(c["at_us"]) for c in calls)
depths = [int(c["depth"]) for c in calls if c["function"] == "deep"]
assert depths == list(range(depths[0], depths[0] + 41)), depths
waited = max((c for c in calls if c["function"] == "late"), key=lambda c: float(c["us"]))
assert float(waited["us"]) >= 119000 and abs(float(waited["at_us"]) - late["at_us"]) < 200000, (waited, late)
# The trace: in each thread a slice is within another or beside it; nanosleep is within rest, within late.
trace = load("trace.json")["traceEvents"]
threads = {}
for e in trace:
    if e["ph"] == "X" and e["cat"] == "call":
        threads.setdefault((e["pid"], e["tid"]), []).append((e["ts"], -e["dur"], e))
assert len(threads) == 2 and len([e for e in trace if e["ph"] == "M"]) == 2
for slices in threads.values():
    open_slices = []
    for ts, dur, e in sorted(slices, key=lambda s: s[:2]):
        while open_slices and open_slices[-1] <= ts + 0.002: open_slices.pop()
        assert not open_slices or ts - dur <= open_slices[-1] + 0.002, e
        open_slices.append(ts - dur)
def within(inner, outer): return outer["ts"] <= inner["ts"] + 0.002 and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 0.002
sleep = max((e for e in trace if e.get("cat") == "syscall" and e["name"].endswith("nanosleep")), key=lambda e: e["dur"])
rest = next(e for e in trace if e["name"] == "rest")
assert sleep["dur"] >= 119000 and within(sleep, rest) and any(within(rest, e) for e in trace if e["name"] == "late")
END
python3 compare.py || fail "timeline: another answer"

# Few of many: the longest ones, whatever the number of jobs.
for form in --calls --perfetto; do
	answer $form --csv --most 50 -j1 >one 2>/dev/null || answer $form --most 50 -j1 >one || fail "$form --most"
	answer $form --csv --most 50 -j3 >three 2>/dev/null || answer $form --most 50 -j3 >three || fail "$form --most -j3"
	cmp one three || fail "$form --most 50: another answer with -j3"
done
answer --calls --csv --most 50 >fifty || fail "--most"
[ "$(wc -l <fifty)" = 51 ] || fail "--most 50 keeps $(($(wc -l <fifty) - 1))"
python3 - <<'END' || fail "--most: not the longest"
import csv
def rows(name): return [(c["function"], c["thread"], int(c["instructions"])) for c in csv.DictReader(open(name))]
everything, kept = rows("calls.csv"), rows("fifty")
least = min(n for f, t, n in kept if f == "odd") if any(f == "odd" for f, t, n in kept) else 0
assert ("odd", "1", max(n for f, t, n in everything if f == "odd")) in kept and ("late", "0") in [k[:2] for k in kept]
assert set(kept) <= set(everything)
END

# A recording without references, and a part of it.
"$TW" record -q -f dep-c -o flow.tw -- ./waits >/dev/null || fail "record -f dep-c"
"$TW" analyze timeline --json flow.tw | python3 -c '
import json, sys
functions = {f["function"]: f for f in json.load(sys.stdin)["functions"]}
assert functions["odd"]["calls"] == 100 and functions["late"]["calls"] == 60 and functions["deep"]["calls"] == 41, functions' || fail "dep-c"
"$TW" analyze timeline --thread 1 --json recording.tw | python3 -c '
import json, sys
functions = {f["function"]: f for f in json.load(sys.stdin)["functions"]}
assert functions["odd"]["calls"] == 100 and "late" not in functions, functions' || fail "--thread"
