# diff: runs of one program with and without a turn that is known; addresses that differ from run to run do not matter.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program turns -O0 -g <<'END'
#include <stdlib.h>
static volatile long sum;
static void seldom(void)
{
	sum += 3;
}
static void often(long i)
{
	sum += i;
}
int main(int argc, char **argv)
{
	long turn = atol(argv[1]), n = atol(argv[2]);
	for (long i = 0; i < n; i++) {
		if (i == turn)
			seldom();
		often(i);
	}
	return argc < 0;
}
END
recorded ./turns 9000 20000
mv recording.tw old.tw
recorded ./turns 9000 20000
mv recording.tw again.tw
recorded ./turns 5000 20010
"$TW" analyze diff old.tw again.tw --json >same.json || fail "diff of two equal runs"
"$TW" analyze diff old.tw recording.tw --json >found.json || fail "diff"
"$TW" analyze diff old.tw recording.tw -j1 >text || fail "diff as text"
"$TW" analyze diff recording.tw old.tw --json >back.json || fail "diff the other way round"
grep -q '  +[0-9][0-9]*  often' text || fail "a change has no sign in text"
awk 'length > 80 { exit 1 }' text || fail "text is wider than 80 columns"
python3 - <<'END' || fail "not what the program does"
import json
same, found = json.load(open("same.json")), json.load(open("found.json"))
ours = lambda r, *names: any("turns.c:" in r[n] for n in names)
assert not [p for p in same["partings"] if ours(p, "after", "old", "new")], same["partings"]
assert not [f for f in same["functions"] + same["lines"] if f["module"] == "turns"], same["functions"]
assert not [e for e in same["edges"] if ours(e, "from", "to")], same["edges"]
parted = [p for p in found["partings"] if ours(p, "after", "old", "new")]
assert len(parted) == 1, parted
p = parted[0]
# Both have come to the branch of line 15; the new one calls seldom(), the old one often().
assert p["thread"] == 0 and p["after"] == "main turns.c:15" and p["new"] == "main turns.c:16" and p["old"] == "main turns.c:17", p
functions = {f["function"]: f for f in found["functions"] if f["module"] == "turns"}
assert set(functions) == {"main", "often"}, functions
assert functions["often"]["change"] == functions["often"]["new"] - functions["often"]["old"] > 0, functions["often"]
back = {f["function"]: f for f in json.load(open("back.json"))["functions"] if f["module"] == "turns"}
assert back["often"]["change"] == -functions["often"]["change"], back["often"]
assert (functions["often"]["new"] * 20000) == functions["often"]["old"] * 20010
lines = {f["line"] for f in found["lines"] if f["module"] == "turns"}
assert lines == {"main turns.c:14", "main turns.c:15", "main turns.c:17"} | {"often turns.c:%d" % n for n in (8, 9, 10)}, lines
edges = {(e["from"], e["to"]): e["new"] - e["old"] for e in found["edges"] if ours(e, "from") and ours(e, "to")}
assert edges["main turns.c:17", "often turns.c:8"] == 10 and edges["often turns.c:10", "main turns.c:14"] == 10, edges
assert ("main turns.c:16", "seldom turns.c:4") not in edges
END
# A window holds for both: equal runs are equal in it, and nothing outside of it is told.
for window in '--module turns' '--function often' '--from 1000i' '--thread 0'; do
	"$TW" analyze diff $window --json old.tw again.tw >window.json || fail "diff $window"
	python3 - "$window" <<'END' || fail "diff $window"
import json, sys
d, ours = json.load(open("window.json")), "module" in sys.argv[1] or "function" in sys.argv[1]
rows = [r for name in ("functions", "lines") for r in d[name] if r["module"] == "turns"]
assert not rows and not [p for p in d["partings"] if "turns.c:" in p["after"] + p["old"] + p["new"]], d
assert not ours or d["old_instructions"] == d["new_instructions"] > 0 and not d["partings"] and not d["functions"], d
END
done
"$TW" analyze diff --module turns --json --against old.tw recording.tw >window.json || fail "diff --against"
python3 - <<'END' || fail "a window that shows where they part"
import json
d, whole = json.load(open("window.json")), json.load(open("found.json"))
assert {f["module"] for f in d["functions"] + d["lines"]} == {"turns"}, d["functions"]
assert d["functions"] == [f for f in whole["functions"] if f["module"] == "turns"]
assert d["partings"] == [p for p in whole["partings"] if "turns.c:" in p["after"]], d["partings"]
END

# What only one has.
cc_program more -O0 -pthread <<'END'
#include <pthread.h>
static void *work(void *p) { return p; }
int main(int argc, char **argv)
{
	pthread_t t;
	if (argc > 1 && !pthread_create(&t, NULL, work, NULL))
		pthread_join(t, NULL);
	return argv == NULL;
}
END
recorded ./more
mv recording.tw one.tw
recorded ./more two
"$TW" analyze diff one.tw recording.tw --json >two.json && "$TW" analyze diff recording.tw one.tw --json >one.json || fail "diff of one and two threads"
python3 - <<'END' || fail "sequences that only one has"
import json
more, less = json.load(open("two.json")), json.load(open("one.json"))
assert more["sequences_only_new"] == less["sequences_only_old"] >= 2 and more["sequences_only_old"] == less["sequences_only_new"] == 0, (more, less)
END

one_sentence "$TW" analyze diff nowhere.tw recording.tw
says "nowhere.tw"
one_sentence "$TW" analyze diff recording.tw
says "diff wants OLD .* and exactly one recording"
exit 0
