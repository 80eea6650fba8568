# blocks --dot and --svg: Graphviz takes them; functions and lines are named; the hottest path is red; a large graph is cut and says so. Also: threads
# and processes in one profile.
. "$(dirname "$0")/../lib.sh"
cc_program busy -O1 -fno-inline -no-pie <<'END'
#include <stdio.h>
static int table[1024];
__attribute__((noinline)) void very_hot_function(int n)
{
	for (int i = 0; i < n; i++)
		if (i % 7)
			table[i & 1023] += i;
}
__attribute__((noinline)) void rather_warm_function(int n)
{
	for (int i = 0; i < n; i++)
		table[i & 15] ^= i;
}
int main(void)
{
	very_hot_function(200000);
	rather_warm_function(20000);
	printf("%d\n", table[5]);
	return 0;
}
END
recorded ./busy
"$TW" blocks --dot recording.tw >all.dot && "$TW" blocks --dot --nodes 5 recording.tw >five.dot && "$TW" blocks --dot --nodes 0 recording.tw >whole.dot || fail "--dot"
"$TW" blocks --dot --function very_hot_function recording.tw >hot.dot || fail "--dot --function"
n_blocks=$("$TW" blocks --json recording.tw | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["static"]))')
nodes() { grep -cE '^ +b[0-9]+ \[' "$1"; }
[ "$(nodes all.dot)" = 60 ] && [ "$(nodes five.dot)" = 5 ] && [ "$(nodes whole.dot)" = "$n_blocks" ] || fail "not as many nodes as asked for"
grep -q "cut to the hottest 60 of $n_blocks static blocks" all.dot || fail "nobody says that the graph is cut"
grep -q 'cut' whole.dot && fail "the whole graph is called cut"
grep -q 'label="very_hot_function"' all.dot || fail "no function is named"
grep -q 'busy\.c:[0-9]' all.dot || fail "no line is named"
[ "$(nodes hot.dot)" -ge 3 ] && ! grep -q rather_warm hot.dot || fail "--function shows others"
grep -E ' -> .*color=red' five.dot >red || fail "no hottest path"
hottest=$("$TW" blocks -n 1 recording.tw | awk '/share/ { getline; print $2; exit }')
grep -qE "b$hottest -> .*color=red" five.dot || fail "the hottest path does not lead through block $hottest: $(cat red)"
one_sentence "$TW" blocks --dot --function no_such_function recording.tw
says no_such_function
# the trace of the same: no names, but a graph
"$TW" dump --lackey recording.tw | "$TW" blocks --dot - >trace.dot && [ "$(nodes trace.dot)" = 60 ] || fail "--dot of a trace"

# Threads and processes: one stream each; a forked child shares its parent's blocks, an executed program has its own.
cc_program many -pthread <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void work(volatile int *n)
{
	for (int i = 0; i < 1000; i++)
		++*n;
}
static void *thread(void *arg)
{
	volatile int n = 0;
	work(&n);
	return arg;
}
int main(int argc, char **argv)
{
	if (argc > 1)
		return thread(NULL) != NULL;
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			thread(NULL);
			if (i)
				execl(argv[0], argv[0], "again", (char *)NULL);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return 0;
}
END
recorded ./many
for j in 1 2 3; do "$TW" blocks -j $j --json recording.tw >many$j.json || fail "threads and processes"; done
python3 - <<'END' || fail "threads and processes: wrong counts"
import json
p = json.load(open("many1.json"))
hot = sorted([b["executions"] for b in p["static"] if b["function"] == "work" and b["executions"] >= 1000])
assert hot == [1000, 5000], hot                      # 3 threads and 2 children; 1 that was executed
assert len({b["process"] for b in p["static"]}) == 2, {b["process"] for b in p["static"]}
for j in "23":
    assert json.load(open("many%s.json" % j)) == p, j
END

need_command dot
for f in all five hot trace; do dot -Tplain $f.dot >/dev/null 2>err || fail "dot does not take $f.dot: $(head -n 3 err)"; done
"$TW" blocks --svg --function very_hot_function recording.tw >/dev/null 2>&1 && fail "a function of another recording"
RECORD_OPTIONS=(--start=no_such_function)
recorded ./busy
RECORD_OPTIONS=()
one_sentence "$TW" blocks --dot recording.tw
says "there is nothing to draw"
recorded ./busy
"$TW" blocks --svg recording.tw >all.svg || fail "--svg"
python3 -c 'import xml.dom.minidom, sys; t = xml.dom.minidom.parse("all.svg").toxml(); assert "very_hot_function" in t and "cut to the hottest" in t and "red" in t' || fail "no SVG, or nothing in it"
mkdir empty
one_sentence env PATH="$TMP/empty" "$TW" blocks --svg recording.tw
says Graphviz
