# Learning: what runs tell adds up, by module, whatever part of them was recorded; files are merged by many at once, and never lost; coverage says what is missing.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program steps -g -O1 <<'END'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noipa)) int one(int n) { return n * 3; }
__attribute__((noipa)) int two(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += i % 3 ? i : -i;
	return sum;
}
__attribute__((noipa)) int three(int n) { return n ^ 5; }
int main(int argc, char **argv)
{
	static int (*const way[])(int) = {one, two, three};
	int sum = 0;
	for (int i = 0; i < 300000; i++)
		sum += way[atoi(argv[1 + i % (argc - 1)])](i % 20);
	printf("%d\n", sum);
	return 7;
}
END
number() { # number FILE KEY...: of JSON
	local file=$1
	shift
	python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
for k in sys.argv[2:]:
    d = d[int(k) if isinstance(d, list) else k]
print(d)' "$file" "$@"
}
learn() { # learn OPTION... -- ARGUMENT...: with the status and output of the program
	local command=("$@")
	while [ "${command[0]}" != -- ]; do command=("${command[@]:1}"); done
	native "${command[@]:1}"
	"$TW" record -q --learn=learned "$@" >learn.out 2>learn.err
	[ $? = 7 ] || fail "record --learn $*: $(cat learn.err)"
	cmp -s learn.out native.out || fail "record --learn $*: other output than natively"
}

# Of a whole run all is learned; of another path of the program, what is new, and nothing is lost.
"$TW" record -q -f dep-c -o whole.tw ./steps 0 1 2 >/dev/null
[ $? = 7 ] || fail "record"
learn -- ./steps 0
"$TW" coverage --against whole.tw --json learned >first.json || fail "coverage"
python3 - <<'END' || fail "what is missing is not what did not run"
import json
d = json.load(open("first.json"))
f = {r["function"]: r for r in d["functions"]}
assert f["one"]["blocks"] == f["one"]["blocks_learned"] > 0
assert f["two"]["blocks_learned"] == 0 < f["two"]["edges"] and f["two"]["edges_learned"] == 0
assert f["three"]["blocks_learned"] == 0
assert d["functions"][0]["function"] == "two" # that misses most comes first
END
learn -- ./steps 1
learn -- ./steps 2
"$TW" coverage --against whole.tw --json learned >all.json || fail "coverage"
# (what ld.so does with arguments and environment differs from run to run)
own_code_is_known() { # own_code_is_known JSON RUNS: all blocks of the program's own functions, and most in all
	python3 - "$@" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		own = [r for r in d["functions"] if r["module"].endswith("/steps") and r["function"] in ("one", "two", "three", "main")]
		assert len(own) == 4 and all(r["blocks"] == r["blocks_learned"] for r in own), own
		assert d["blocks_percent"] >= 95 and d["edges_percent"] >= 90 and d["calls_percent"] >= 85, d["all"]
		assert d["runs"] == int(sys.argv[2]), d["runs"]
	END
}
own_code_is_known all.json 3 || fail "three ways do not make the whole"
"$TW" learn --functions learned >learn.txt || fail "learn"
for f in one two three main; do grep -q " $f  steps$" learn.txt || fail "learn does not name $f"; done
"$TW" learn --lcov learned | grep -q '^SF:.*steps.c$' || fail "learn --lcov has no lines"
"$TW" learn --lcov --json learned 2>both.err && fail "learn: --lcov and --json at once"
grep -q -- '--lcov and --json exclude each other' both.err || fail "learn --lcov --json: $(cat both.err)"
"$TW" learn --json learned >learn.json || fail "learn --json"
[ "$(number learn.json runs)" = 3 ] || fail "learn --json: runs"

# Within a budget the bare engine tells what it comes by, until that has cost as much; what is left is learned in further runs. Nothing is learned that did not happen.
rm learned
learn --budget=0.1% --period=1ms -- ./steps 0 1 2
"$TW" coverage --against whole.tw --json learned >few.json || fail "coverage"
python3 -c 'import json; assert json.load(open("few.json"))["blocks_percent"] < 100' || fail "a budget of next to nothing is not held"
rm learned
learn --budget=20% -- ./steps 0 1 2
"$TW" coverage --against whole.tw --json learned >budget.json || fail "coverage"
own_code_is_known budget.json 1 || fail "within a budget: $("$TW" coverage --against whole.tw learned)"

# Where an indirect branch leads is learned of each branch, though others have led there before, and though recording has ended by then.
cc_program fan -g -O1 <<'END'
#include <stdio.h>
typedef int work(int);
__attribute__((noipa)) static int one(int n) { return n * 3 + 1; }
__attribute__((noipa)) static int two(int n) { return n ^ 5; }
static work *volatile way = one;
#define CALL sum += way(sum);
#define EIGHT CALL CALL CALL CALL CALL CALL CALL CALL
__attribute__((noipa)) static int fan(int sum) { EIGHT EIGHT return sum; }
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 5000000; i++)
		sum += two(i);
	sum = fan(sum);
	way = two;
	printf("%d\n", fan(sum));
}
END
"$TW" record -q -f dep-c -o fan.tw ./fan >/dev/null && "$TW" record -q --budget=1% --period=10s --learn=fan.learned ./fan >/dev/null || fail "fan"
"$TW" coverage --against fan.tw --json fan.learned >fan.json || fail "coverage"
python3 - <<'END' || fail "some branches of many that lead to one place are not learned: $("$TW" coverage --against fan.tw fan.learned)"
import json
f = {r["function"]: r for r in json.load(open("fan.json"))["functions"]}
assert f["fan"]["edges"] >= 32 and f["fan"]["edges_learned"] == f["fan"]["edges"], f["fan"]
assert all(f[k]["edges_learned"] == f[k]["edges"] > 0 for k in ("one", "two", "main"))
END
"$TW" record -q -f dep-c --learn=all.learned -o again.tw ./steps 0 1 2 >/dev/null
"$TW" coverage --against again.tw all.learned | grep -q '^edges .* 100.00$' || fail "a recording does not cover itself"
"$TW" info again.tw >/dev/null || fail "-o with --learn stores nothing"

# What is known is not told again, in this run and in later ones.
events_of_run() { # how much is told of code that runs bare
	"$TW" record -q -f dep-c -o told.tw --learn=told --budget=1% ./steps 0 1 2 >/dev/null 2>&1
	"$TW" dump --raw told.tw | grep -c 'event learned'
}
first=$(events_of_run)
again=$(events_of_run)
[ "$first" -gt 1000 ] && [ "$again" -lt $((first / 5)) ] || fail "of $first facts that are known $again are told again"

# The logs to compare with: ours misses nothing and instruments nothing again.
"$TW" learn --logs=whole.tw >logs.txt || fail "learn --logs"
awk '$1 == "exact" { exact = $3 == 0 && $4 == 0 && $5 == 0 && $2 > 0 } $1 == "merging" { merging = $4 == 0 && $5 == 0 } $1 == "hash" { hash = $2 > 0 }
	END { exit !(exact && merging && hash) }' logs.txt || fail "learn --logs: $(cat logs.txt)"

# Runs, until one adds next to nothing.
rm learned
native ./steps 0 1
"$TW" record --learn=learned --until=1% --runs=9 ./steps 0 1 >runs.out 2>runs.err
[ $? = 7 ] || fail "--until: $(cat runs.err)"
[ "$(grep -c 'learned .*blocks' runs.err)" = 2 ] || fail "--until=1%: $(grep -c learned runs.err) runs"
cat native.out native.out | cmp -s - runs.out || fail "--runs: other output than natively"

# Many at once.
rm learned
for i in 0 1 2 0 1 2; do "$TW" record -q --learn=learned ./steps $i >/dev/null 2>&1 & done
wait
"$TW" coverage --against whole.tw --json learned >many.json || fail "coverage"
own_code_is_known many.json 6 || fail "of six at once something is lost"
[ "$(echo learned*)" = learned ] || fail "something is left beside the file: $(echo learned*)"

# What cannot be read is kept.
size=$(stat -c %s learned)
wrong_with() { # wrong_with DAMAGE
	case $1 in
	s=*) echo "the learn file '.*bad' ends early" ;;
	0) echo "the learn file '.*bad' is damaged: its checksum does not match" ;;
	version) echo "the learn file '.*bad' is of another version (version 255, where this Trackway has [0-9]*)" ;;
	text) echo "'.*bad' is not a learn file" ;;
	esac
}
for damage in "s=$((size / 2))" 0 version text; do
	cp learned bad
	case $damage in
	s=*) truncate -s "${damage#s=}" bad ;;
	0) printf x | dd of=bad bs=1 seek=$((size - 9)) conv=notrunc status=none ;;
	version) printf '\377' | dd of=bad bs=1 seek=8 conv=notrunc status=none ;;
	text) echo "dear diary" >bad ;;
	esac
	cp bad before
	! "$TW" learn bad >/dev/null 2>learn.err || fail "learn reads a damaged file ($damage)"
	[ "$(wc -l <learn.err)" = 1 ] && grep -q "$(wrong_with "$damage")" learn.err || fail "learn does not say in one sentence what is wrong ($damage): $(cat learn.err)"
	"$TW" coverage --against whole.tw bad >/dev/null 2>coverage.err && fail "coverage reads a damaged file ($damage)"
	[ "$(sed 's/^trackway coverage/trackway learn/' coverage.err)" = "$(cat learn.err)" ] || fail "coverage tells ($damage): $(cat coverage.err)"
	"$TW" record -q --learn=bad ./steps 0 >/dev/null 2>record.err
	[ $? = 7 ] || fail "a damaged learn file ($damage): $(cat record.err)"
	grep -q "^trackway: $(wrong_with "$damage"); it is kept as .*bad.kept, " record.err || fail "it is not said that the file is kept ($damage): $(cat record.err)"
	cmp -s before bad.kept || fail "what could not be read is lost ($damage)"
	"$TW" learn bad >/dev/null || fail "nothing was learned anew ($damage)"
	rm bad*
done

# What is no regular file is left alone, and COMMAND does not run where nothing could be written. A link stays, and so does the file's mode.
mkdir folder
mkfifo pipe
record_refused "'folder' is a folder, not a learn file" --learn=folder
record_refused "'pipe' is a device or pipe, not a learn file" --learn=pipe
[ -p pipe ] || fail "a pipe was put aside"
record_refused "'nowhere/learned': No such file or directory" --learn=nowhere/learned
record_refused "'': No such file or directory" --learn=
for it in folder pipe; do
	"$TW" learn $it >/dev/null 2>learn.err && fail "learn $it"
	grep -q "^trackway learn: '$it' is a .*, not a learn file$" learn.err || fail "learn $it: $(cat learn.err)"
done
: >target
chmod 640 target
ln -s target link
"$TW" learn target >learn.out 2>learn.err && fail "learn of an empty file"
[ ! -s learn.out ] && grep -q "^trackway learn: nothing has been learned in 'target', which is empty$" learn.err || fail "learn of an empty file: $(cat learn.err)"
learn --learn=link -- ./steps 0
[ -L link ] && [ "$(stat -c %a target)" = 640 ] && "$TW" learn target >/dev/null || fail "what a link leads to is not where it was learned"

record_refused "the learn file 'learned' is of another program, " --learn=learned
record_refused "--learn-what wants blocks, branches, calls, all, cct or refs, not 'dreams'" --learn=x --learn-what=dreams
record_refused "--learn is required for '--runs'" --runs=3
record_refused "--until wants a share such as 0.5%, not '5'" --learn=x --until=5
record_refused "--learn is not available in format 'none'" --learn=x -f none
record_refused "--learn cannot be combined with '--sink=count'" --learn=x --sink=count
"$TW" learn nowhere 2>learn.err && fail "learn of a file that is not there"
grep -q "^trackway learn: there is no learn file 'nowhere'$" learn.err || fail "learn of a file that is not there: $(cat learn.err)"
"$TW" coverage learned 2>learn.err && fail "coverage without --against"

# Builds of a module are apart, and lines are those of the last one.
printf '#include <stdio.h>\nint main(int argc, char **argv)\n{\n\tif (argc > 1)\n\t\treturn puts(*argv) < 0;\n\treturn 0;\n}\n' >built.c
$CC -g -O0 -Wl,--build-id -o built built.c && "$TW" record -q --learn=builds ./built || fail "record ./built"
first=$("$TW" learn --json builds | python3 -c 'import json, sys; print([m["build_id"] for m in json.load(sys.stdin)["modules"] if m["module"].endswith("/built")][0])') || fail "no build id"
"$TW" learn builds | grep -q '(build' && fail "one build is told apart"
sed -i 's/^int main/\n\n\n&/' built.c
$CC -g -O0 -Wl,--build-id -o built built.c && "$TW" record -q --learn=builds ./built || fail "record ./built once more"
[ "$("$TW" learn builds | grep -c "/built (build")" = 2 ] && "$TW" learn builds | grep -q "/built (build ${first:0:8})" || fail "two builds are not told apart: $("$TW" learn builds)"
[ "$("$TW" learn --functions builds | grep -c ' main  built (build')" = 2 ] || fail "functions of two builds: $("$TW" learn --functions builds)"
"$TW" learn --lcov builds >lines 2>left || fail "learn --lcov"
grep -q "built: lines of its build ${first:0:8} are left out" left || fail "what is left out is not told: $(cat left)"
[ "$(sed -n '/^SF:.*built.c$/,/end_of_record/p' lines | sed -n 's/^DA:\([0-9]*\),.*/\1/p' | tr '\n' ' ')" = '6 7 9 10 ' ] || fail "lines of another build: $(cat lines)"
exit 0
