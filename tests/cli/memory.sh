# info: data in memory, by kind, with the call that mapped it and from when to when; --address tells what was at one; moved, unmapped, protected, shared memory and forks.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program maps -O0 -g -w -pthread <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>
int zeros[5000], table[1000] = {1};
static int *on_thread;
static void *thread(void *arg)
{
	int here = 1;
	on_thread = &here;
	return arg;
}
static void tell(const char *what, void *address)
{
	printf("%s %lx\n", what, (unsigned long)address);
	fflush(stdout);
}
int main(int argc, char **argv)
{
	const int rw = PROT_READ | PROT_WRITE;
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	char *moved = mmap(NULL, 1 << 16, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *wall = mmap((char *)0x300000000000, 4096, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	char *new = mremap(moved, 1 << 16, 1 << 20, MREMAP_MAYMOVE | MREMAP_FIXED, wall + (1 << 21));
	munmap(new + 8192, 4096);
	int id = shmget(IPC_PRIVATE, 10000, 0600);
	char *segment = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	tell("zeros", zeros + 4000);
	tell("table", table);
	tell("stack", &rw);
	tell("thread", on_thread);
	tell("moved", moved);
	tell("new", new);
	tell("hole", new + 8192);
	tell("behind", new + 12288);
	tell("segment", segment + 8192);
	shmdt(segment);
	tell("heap", malloc(100));
	tell("shared", mmap(NULL, 4096, rw, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	char *none = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(none + 4096, 4096, rw);
	tell("none", none);
	int f = open(argv[0], O_RDONLY);
	tell("file", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, f, 4096));
	close(f);
	if (!fork()) {
		tell("child", mmap(NULL, 4096, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		_exit(0);
	}
	wait(NULL);
	return argc == 0;
}
END
recorded ./maps
[ "$RECORDED_STATUS" = 0 ] || fail "the program's status is $RECORDED_STATUS"
"$TW" info --json recording.tw >info.json || fail "info --json"
"$TW" info --mappings recording.tw >text || fail "info --mappings"
python3 - <<'END_PYTHON' || fail "the mappings are not right"
import json
info = json.load(open("info.json"))
at = {l.split()[0]: int(l.split()[1], 16) for l in open("recorded.out")}
maps, parent = info["mappings"], info["processes"][0]["pid"]
holds = lambda what, pid=parent: [m for m in maps if m["pid"] == pid and m["address"] <= at[what] < m["address"] + m["length"]]
def one(what, **wanted): # that is there at the end
    (m,) = [m for m in holds(what) if "to" not in m]
    for key, value in wanted.items():
        assert m.get(key) == value, (what, key, m)
    return m
program = "/maps"
assert one("table", kind="file", protection="rw-")["path"].endswith(program)
assert one("zeros", kind="zeros", protection="rw-")["path"].endswith(program)
assert "call" not in one("table") and "from" not in one("table")
assert one("stack", kind="stack", protection="rw-")["length"] > 65536
one("thread", kind="thread stack", protection="rw-", call="mmap")
one("heap", kind="heap", call="brk")
new = one("new", call="mremap", kind="anonymous", length=8192)
old = max((m for m in holds("moved") if m["length"] == 1 << 16 and "path" not in m and m.get("to", 1e9) <= new["from"] + 1e-9), key=lambda m: m["to"]) # the C library may have had another there
assert old["kind"] == "anonymous" and old["call"] == "mmap"
assert 0 <= old["from"] <= old["to"] <= new["from"] + 1e-9
assert [m["length"] for m in holds("hole") if m.get("to", 0) >= new["from"]] == [4096]
assert one("behind")["length"] == (1 << 20) - 12288
(segment,) = [m for m in holds("segment") if m["call"] == "shmat"] # something else may be there later
assert segment["kind"] == "shared"
assert segment["length"] == 12288 and segment["to"] > segment["from"]
one("shared", kind="shared", call="mmap")
one("none", kind="anonymous", protection="rw-", call="mmap")
f = one("file", kind="file", protection="r--", offset=4096, call="mmap")
assert f["path"].endswith(program) and "mmap" in f["function"]
(child,) = [m for m in maps if m["pid"] != parent]
assert child["address"] == at["child"] and child["kind"] == "anonymous" and child["length"] == 4096
code = [m for m in maps if "x" in m["protection"] and m.get("path", "").endswith(program)]
assert len(code) == 1 and code[0]["kind"] == "file"

# Nothing is at one place twice at a time, but what replaces something else there.
end = lambda m: m.get("to", 1e9)
live = sorted((m for m in maps if m["pid"] == parent and "to" not in m), key=lambda m: m["address"])
assert all(a["address"] + a["length"] <= b["address"] for a, b in zip(live, live[1:]))
text = open("text").read()
for m in maps:
    assert ("%016x-%016x" % (m["address"], m["address"] + m["length"]) in text) == ("x" not in m["protection"]), m
END_PYTHON
address() { awk -v w="$1" '$1 == w { print $2 }' recorded.out; }
"$TW" info --address "$(address table)" recording.tw >said || fail "--address"
grep -q 'variable table+0x0, of 4000 bytes: table\[0\]$' said || fail "--address does not name the variable: $(cat said)"
"$TW" info --address "0x$(address segment)" recording.tw | grep -q ' shared .* shmat' || fail "--address does not tell the segment"
"$TW" info --address 12 recording.tw >said 2>&1 && fail "--address of nothing"
grep -q 'no mapping at 0x12 is known$' said || fail "$(cat said)"
"$TW" info --address heap recording.tw >said 2>&1
[ $? = 2 ] && grep -q "'heap'" said || fail "--address heap: $(cat said)"
"$TW" dump --syscalls recording.tw | grep -q 'mmap(.*) = [0-9]' && ! "$TW" dump --syscalls recording.tw | grep -qE 'mmap(2)?\(.*\) = [1-9]' || fail "an address is not in hexadecimal"

# What a window leaves out is mapped all the same, by no call that is known.
RECORD_OPTIONS=(--start tell)
recorded ./maps
"$TW" info --json recording.tw | python3 -c '
import json, sys
at = {l.split()[0]: int(l.split()[1], 16) for l in open("recorded.out")}
maps = json.load(sys.stdin)["mappings"]
(m,) = [m for m in maps if m["address"] <= at["thread"] < m["address"] + m["length"]]
assert m["kind"] == "thread stack" and "call" not in m, m
(m,) = [m for m in maps if m["address"] <= at["shared"] < m["address"] + m["length"] and "to" not in m]
assert m["call"] == "mmap" and m["kind"] == "shared", m' || fail "in a window"

# Many at once: the list of those that are there grows while it is looked at.
cc_program many -O0 -g <<'END'
#define _GNU_SOURCE
#include <sys/mman.h>
int main(void)
{
	char *at = (char *)0x310000000000;
	for (int i = 0; i < 3000; i++) /* now in front of all, now behind them */
		if (mmap(at + (i % 2 ? i : -i) * 8192L, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
			return 1;
	return 0;
}
END
RECORD_OPTIONS=()
recorded ./many
[ "$RECORDED_STATUS" = 0 ] || fail "many mappings: the program's status is $RECORDED_STATUS"
MALLOC_PERTURB_=165 "$TW" info --json recording.tw >many.json || fail "info of many mappings: status $?"
python3 - <<'END_PYTHON' || fail "many mappings are not all told"
import json
maps = [m["address"] for m in json.load(open("many.json"))["mappings"] if m["length"] == 4096 and "to" not in m]
assert all(0x310000000000 + (i if i % 2 else -i) * 8192 in maps for i in range(3000))
END_PYTHON
