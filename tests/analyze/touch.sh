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
one_sentence "$TW" analyze touch watched.member recording.tw --output out
says "nothing of 'watched.member' is known: an array has no member 'member'$"
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

# The time of an access is that of the last event before it, calls among them, whatever is replayed at once.
cc_program called -O1 <<'END'
#include <stdlib.h>
volatile int watched;
int main(void)
{
	for (int i = 0; i < 3000; i++) {
		void *volatile p = malloc(10);
		watched++;
		free(p);
	}
	return 0;
}
END
"$TW" record -q --calls --with=touch,json,range=watched,output=live.json -o called.tw -- ./called || fail "record --calls"
"$TW" analyze touch watched --json called.tw | cmp -s - live.json || fail "another answer while the program ran"
"$TW" dump --order called.tw >order || fail "dump --order"
"$TW" info --json called.tw >info.json || fail "info"
python3 - <<'END' || fail "the times of accesses are not those of the calls before them"
import json
hz = json.load(open("info.json"))["tsc_hz"]
returns = {int(l.split()[0]) * 10**9 // hz for l in open("order") if l.split()[3] == "return"}
accesses = [r["ns"] for r in json.load(open("live.json"))["accesses"]]
assert len(accesses) >= 3000 and sum(ns in returns or ns - 1 in returns or ns + 1 in returns for ns in accesses) > len(accesses) - 10, (accesses[:9], sorted(returns)[:9])
END

# It does without time stamps of locked instructions: none are recorded for it.
"$TW" record -q --with touch,range=watched,output=with.txt -o with.tw -- ./vars || fail "record --with touch"
[ "$(info_value order with.tw)" = 0 ] || fail "record --with touch has locked instructions stamped"

# What the kernel fills and reads is written and read: also where the index says which chunks may have it.
cc_program kernel -O0 -no-pie -pthread <<'END'
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
char tw_filled[4096], tw_behind[64], tw_given[64], tw_taken[64], tw_name[128];
struct mmsghdr tw_messages[4];
struct stat tw_st;
int tw_n;
struct pollfd tw_poll[2];
static int pieces(void) /* more room than data; two messages at once */
{
	struct iovec v[] = {{tw_given, 3}, {tw_given + 8, 4}, {tw_taken, 2}, {tw_taken + 8, 50}};
	struct iovec w[] = {{tw_given + 16, 3}, {tw_given + 24, 2}, {tw_taken + 16, 8}, {tw_taken + 24, 8}};
	struct mmsghdr *m = tw_messages;
	int s[2], bad = socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
	for (int i = 0; i < 4; i++)
		m[i].msg_hdr = (struct msghdr){.msg_iov = &w[i], .msg_iovlen = 1, .msg_name = i == 3 ? tw_name : 0, .msg_namelen = sizeof tw_name};
	bad = bad || writev(s[0], v, 2) != 7 || readv(s[1], v + 2, 2) != 7;
	return bad || sendmmsg(s[0], m, 2, 0) != 2 || recvmmsg(s[1], m + 2, 2, 0, NULL) != 2;
}
static void *work(void *p) { return p; } /* of a chunk of its own: for few of them no index is made */
int main(void)
{
	int ends[2];
	tw_filled[100] = 1;
	tw_poll[1].fd = -1;
	tw_poll[0].fd = 0;
	if (pipe(ends) || write(ends[1], tw_filled, 4096) != 4096 || read(ends[0], tw_filled + 90, 20) != 20 || fstat(0, &tw_st) || pieces())
		return 1;
	for (int i = 0; i < 16; i++) {
		pthread_t t;
		pthread_create(&t, NULL, work, NULL);
		pthread_join(t, NULL);
	}
	if (ioctl(ends[0], FIONREAD, &tw_n) || poll(tw_poll, 2, 0) < 0)
		return 1;
	return read(ends[0], tw_behind, 50) != 50;
}
END
run out err "$TW" record -q -o kernel.tw ./kernel || fail "record ./kernel: $(cat err)"
for answer in plain indexed; do
	for what in tw_filled tw_filled+95 "0x$(nm kernel | awk '$3 == "tw_filled" { print $1 }')+4096" tw_behind tw_st tw_given tw_taken tw_messages tw_n tw_poll; do
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
def places(name):
    found, rows = accesses(name)
    low = min(r["at"] for r in rows)
    return [(kind, r["at"] - low, n, place) for (kind, n, place), r in zip(found, rows)]
given, taken = places("tw_given"), places("tw_taken")
assert given == [("R", 0, 3, "writev"), ("R", 8, 4, "writev"), ("R", 16, 3, "sendmmsg"), ("R", 24, 2, "sendmmsg")], given
assert taken == [("W", 0, 2, "readv"), ("W", 8, 5, "readv"), ("W", 16, 3, "recvmmsg"), ("W", 24, 2, "recvmmsg")], taken
def by_kernel(name):
    found, rows = accesses(name)
    low = min(r["at"] for r in rows)
    return sorted((place, r["at"] - low, n) for (kind, n, place), r in zip(found, rows) if place.endswith("mmsg"))
lengths = [("recvmmsg", 64 * i + at, n) for i in (2, 3) for at, n in ((40, 8), (48, 4), (56, 4))] + [("recvmmsg", 200, 4), ("sendmmsg", 56, 4), ("sendmmsg", 120, 4)]
assert by_kernel("tw_messages") == sorted(lengths), by_kernel("tw_messages")
assert accesses("tw_n")[0] == [("W", 4, "ioctl")], accesses("tw_n")[0]
assert places("tw_poll") == [("W", 8, 4, "main"), ("W", 0, 4, "main"), ("W", 6, 2, "poll"), ("W", 14, 2, "poll")], places("tw_poll")
assert [(k, n) for k, n, p in accesses("tw_st")[0] if k == "W"] == [("W", 144)], accesses("tw_st")
END
	python3 kernel.py $answer || fail "what the kernel does ($answer)"
done
last=$("$TW" analyze touch tw_filled --last-before 1000000000000ns --paths --json kernel.tw | python3 -c 'import json, sys; print(json.load(sys.stdin)["last_write"])') || fail "--last-before"
[[ $last == *read* && $last == *"< main kernel.c:"* ]] || fail "the last to write is not read(2), called by main: $last"

# A thread_local variable is where each thread has it: that of a library, too, and behind one that is aligned.
cat >own.c <<'END'
__thread char own_rest[5];
__thread long own_of_library[3] = {1};
long own_touch(int i) { own_rest[i] = 1; return own_of_library[i]++; }
END
$CC -O1 -g -shared -fPIC -o libown.so own.c || fail "own.c does not compile"
cc_program local -O1 -pthread -L. -Wl,-rpath,"$PWD" -lown <<'END'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
extern __thread char own_rest[5];
extern __thread long own_of_library[3];
long own_touch(int);
static _Thread_local int counter = 7;
_Thread_local __attribute__((aligned(64))) char room[100];
static void *work(void *arg)
{
	int n = (int)(intptr_t)arg;
	for (int i = 0; i < 2 + n; i++)
		counter++, room[i] = 1, own_touch(i);
	printf("%d counter %lu\n%d own_of_library %lu\n", n, (long)&counter, n, (long)own_of_library);
	printf("%d room %lu\n%d own_rest %lu\n", n, (long)room, n, (long)own_rest);
	return arg;
}
int main(void)
{
	pthread_t t;
	work(NULL);
	pthread_create(&t, NULL, work, (void *)1);
	return pthread_join(t, NULL);
}
END
run out err "$TW" record -q -o local.tw ./local || fail "record ./local: $(cat err)"
for what in counter own_of_library room own_rest; do
	"$TW" analyze touch "$what" --json local.tw >"own.$what.json" 2>err || fail "touch $what: $(cat err)"
done
python3 - <<'END' || fail "thread_local variables"
import json
told = [line.split() for line in open("out")]
assert len(told) == 8
for thread, name, at in told:
    rows = [r for r in json.load(open("own.%s.json" % name))["accesses"] if r["thread"] == int(thread)]
    size = {"counter": 0, "own_of_library": 8, "room": 1, "own_rest": 1}[name]
    writes = [r["at"] for r in rows if r["kind"] in "WM" and r["place"].startswith(("work ", "own_touch "))]
    assert writes == [int(at) + size * i for i in range(2 + int(thread))], (thread, name, at, rows)
END
