# touch: the accesses to a variable are those of the dump, in their order; who wrote it last before a time.
. "$(dirname "$0")/../lib.sh"
need_command python3 nm
cc_program vars -O1 -pthread -fno-inline <<'END'
#include <pthread.h>
#include <unistd.h>
long other[8], watched[4], more[8];
static void set(int i, long v) { watched[i & 3] = v; }
static void bump(void) { watched[2]++; other[1]++; }
static void *work(void *arg)
{
	for (int i = 0; i < 50; i++) {
		set(i, i);
		bump();
		if (i % 10 == 0)
			getppid();
	}
	return arg;
}
int main(void)
{
	pthread_t t;
	work(NULL);
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL); /* of a thread that is gone makes no system call, and so has no time */
	getppid();
	*(volatile char *)((char *)watched + 31) = 7; /* its last byte */
	*(volatile char *)((char *)watched + 32) = 7; /* behind it */
	return more[0] != 0;
}
END
recorded ./vars
"$TW" dump --refs recording.tw >refs
"$TW" analyze touch watched --json -j3 recording.tw >found.json || fail "analyze touch"
"$TW" analyze touch watched --json -j1 recording.tw | cmp -s - found.json || fail "one job gives another answer"
address=$(python3 -c 'import json; print(hex(min(r["at"] for r in json.load(open("found.json"))["accesses"])))')
"$TW" analyze touch "$address+8" --json recording.tw >part.json || fail "analyze touch ADDRESS"
"$TW" analyze touch watched --last-before 1000s --json recording.tw >last.json || fail "--last-before"
"$TW" analyze touch watched --last-before 0s recording.tw | grep -q 'last write  *none before that' || fail "--last-before 0s"
for window in '--module vars' '--function set'; do
	"$TW" analyze touch watched $window --json recording.tw >"window${window##* }.json" || fail "analyze touch $window"
done
python3 - <<'END' || fail "touch differs from the dump"
import json
found = json.load(open("found.json"))
start = min(r["at"] for r in found["accesses"])
refs = [l.split() for l in open("refs")]
def chosen(low, high):
    return [(int(t), int(pc, 16), k, int(a, 16), int(s)) for t, pc, k, a, s in refs if int(a, 16) < high and int(a, 16) + int(s) > low]
def rows(d, thread):
    return [(r["thread"], r["pc"], r["kind"], r["at"], r["bytes"]) for r in d["accesses"] if r["thread"] == thread]
expected = chosen(start, start + 32)
assert len(expected) == len(found["accesses"]) > 200
for t in 0, 1:
    assert rows(found, t) == [e for e in expected if e[0] == t], t
assert [r["ns"] for r in found["accesses"]] == sorted(r["ns"] for r in found["accesses"])
assert found["writes"] == sum(e[2] in "WM" for e in expected) and found["reads"] == sum(e[2] in "RM" for e in expected)
assert sum(p["writes"] for p in found["places"]) == found["writes"]
assert {p["place"].split()[0] for p in found["places"]} == {"set", "bump", "main"}, found["places"]
# In a window the same accesses have the same times, whatever tells them.
def timed(name, pcs):
    return sorted((r["thread"], r["ns"], r["pc"], r["at"]) for r in json.load(open(name))["accesses"] if r["pc"] in pcs)
everywhere = {r["pc"] for r in found["accesses"]}
of_set = {r["pc"] for r in json.load(open("windowset.json"))["accesses"]}
assert 0 < len(of_set) < len(everywhere)
assert timed("windowvars.json", everywhere) == timed("found.json", everywhere)
assert timed("windowset.json", of_set) == timed("found.json", of_set)
part = json.load(open("part.json"))
assert sorted(rows(part, 0)) == sorted(e for e in chosen(start, start + 8) if e[0] == 0)
last = json.load(open("last.json"))
assert last["last_write"].startswith("main vars.c:") and last["last_write_thread"] == 0
END
middle=$(python3 -c 'import json; a = json.load(open("found.json"))["accesses"]; print("%.9fs" % (a[len(a) // 2]["ns"] / 1e9))')
"$TW" analyze touch watched --last-before "$middle" --json recording.tw >last.json || fail "--last-before $middle"
python3 - "${middle%s}" <<'END' || fail "--last-before $middle names another write"
import json, sys
limit = int(float(sys.argv[1]) * 1e9)
writes = [r for r in json.load(open("found.json"))["accesses"] if r["kind"] in "WM" and r["ns"] < limit]
last = max(writes, key=lambda r: (r["ns"], r["thread"], r["instruction"]))
found = json.load(open("last.json"))
assert (found["last_write_ns"], found["last_write_thread"], found["last_write_instruction"]) == (last["ns"], last["thread"], last["instruction"])
END
one_sentence "$TW" analyze touch recording.tw
says 'touch wants WHAT .* and exactly one recording'
one_sentence "$TW" analyze touch watched --last-before main recording.tw
says "--last-before wants a time"
one_sentence "$TW" analyze touch no_such --output out recording.tw
says "names a variable 'no_such'; .*thread_local"

# Code that ran and made no such access is not absent.
"$TW" analyze touch 0x1000 --function main --json recording.tw >none.json 2>err || fail "no access of main's: $(cat err)"
python3 -c 'import json; assert json.load(open("none.json"))["accesses"] == []' || fail "no access of main's: $(cat none.json)"

# By which calls: work is called by main in one thread, and is where the other begins.
"$TW" analyze touch watched --paths --json recording.tw >paths.json || fail "--paths"
"$TW" analyze touch watched --paths --depth 1 --last-before 1000s --json recording.tw >last.json || fail "--paths --last-before"
"$TW" analyze touch watched --paths recording.tw | awk 'length > 80 { exit 1 }' || fail "--paths: text is wider than 80 columns"
python3 - <<'END' || fail "touch --paths"
import json
plain, found = json.load(open("found.json")), json.load(open("paths.json"))
def names(r):
    return [p.split()[0].split("+")[0] for p in r["place"].split(" < ")]
assert len(plain["accesses"]) == len(found["accesses"])
for p, r in zip(plain["accesses"], found["accesses"]):
    path = names(r)
    assert r["place"].split(" < ")[0] == p["place"], (r, p)
    assert all(r[k] == p[k] for k in p if k != "place")
    if path[0] == "main":
        assert r["thread"] == 0 and "work" not in path, path
    else:
        assert path[0] in ("set", "bump") and path[1] == "work", path
        assert (len(path) > 2 and path[2] == "main") == (r["thread"] == 0), path
assert {names(r)[0] for r in found["accesses"]} == {"set", "bump", "main"}
last = json.load(open("last.json"))
assert last["last_write"].startswith("main vars.c:") and len(last["last_write"].split(" < ")) == 2, last["last_write"]
assert all(len(r["place"].split(" < ")) <= 2 for r in last["accesses"])
END

# It does without time stamps of locked instructions: none are recorded for it.
"$TW" record -q --with touch,range=watched,output=with.txt -o with.tw -- ./vars || fail "record --with touch"
[ "$(info_value order with.tw)" = 0 ] || fail "record --with touch has locked instructions stamped"

# What the kernel fills and reads is written and read: also where the index says which chunks may have it.
cc_program kernel -O0 -no-pie -pthread <<'END'
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
char tw_filled[4096], tw_behind[64];
struct stat tw_st;
static void *work(void *p) { return p; } /* of a chunk of its own: for few of them no index is made */
int main(void)
{
	int ends[2];
	tw_filled[100] = 1;
	if (pipe(ends) || write(ends[1], tw_filled, 4096) != 4096 || read(ends[0], tw_filled + 90, 20) != 20 || fstat(0, &tw_st))
		return 1;
	for (int i = 0; i < 16; i++) {
		pthread_t t;
		pthread_create(&t, NULL, work, NULL);
		pthread_join(t, NULL);
	}
	return read(ends[0], tw_behind, 50) != 50;
}
END
run out err "$TW" record -q -o kernel.tw ./kernel || fail "record ./kernel: $(cat err)"
for answer in plain indexed; do
	for what in tw_filled tw_filled+95 "0x$(nm kernel | awk '$3 == "tw_filled" { print $1 }')+4096" tw_behind tw_st; do
		"$TW" analyze touch "$what" --json kernel.tw >"$answer.${what##0x*}.json" || fail "touch $what"
	done
	"$TW" sql kernel.tw "select count(*) from refs where addr = $((0x$(nm kernel | awk '$3 == "tw_filled" { print $1 }')))" >/dev/null || fail "sql"
	[ -e kernel.tw/index ] || fail "sql makes no index"
	cat >kernel.py <<'END'
import json, sys
def accesses(name):
    d = json.load(open(sys.argv[1] + "." + name + ".json"))
    rows = [r for r in d["accesses"] if not r["place"].startswith(("memset", "_dl_"))] # the loader clears what is left of a page
    return [(r["kind"], r["bytes"], r["place"].split()[0].strip("_").replace("libc_", "").replace("GI_", "")) for r in rows], rows
whole, rows = accesses("tw_filled")
assert whole == [("W", 1, "main"), ("R", 4096, "write"), ("W", 20, "read")], whole
assert rows[2]["at"] == rows[1]["at"] + 90 and rows[0]["ns"] <= rows[1]["ns"] <= rows[2]["ns"] and rows[0]["instruction"] < rows[1]["instruction"] < rows[2]["instruction"]
assert accesses("")[0] == whole
part = accesses("tw_filled+95")[0]
assert part == [("R", 95, "write"), ("W", 5, "read")], part
assert accesses("tw_behind")[0] == [("W", 50, "read")], accesses("tw_behind")
assert [(k, n) for k, n, p in accesses("tw_st")[0] if k == "W"] == [("W", 144)], accesses("tw_st")
END
	python3 kernel.py $answer || fail "what the kernel does ($answer)"
done
last=$("$TW" analyze touch tw_filled --last-before 1000000000000ns --paths --json kernel.tw | python3 -c 'import json, sys; print(json.load(sys.stdin)["last_write"])') || fail "--last-before"
[[ $last == *read* && $last == *"< main kernel.c:11"* ]] || fail "the last to write is not read(2), called by main: $last"
