# report --html: the page holds what report and info say; in a browser every view shows, clicks, searches and zooms work, and nothing goes wrong.
# timeout: 600
. "$(dirname "$0")/../lib.sh"
cat >prog.cc <<'END'
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>
template <typename T> struct pair_of { T a, b; };
__attribute__((noinline)) long sum_rows(const std::vector<pair_of<long>> &v)
{
	long sum = 0;
	for (const auto &p : v)
		sum += p.a > p.b ? p.a : -p.b;
	return sum;
}
__attribute__((noinline)) long recurse(int n) { return n < 2 ? n : recurse(n - 1) + recurse(n - 2); }
int main()
{
	std::vector<pair_of<long>> v(5000, {3, 4});
	long total = 0;
	std::thread other([&] { total += recurse(15); });
	other.join();
	for (int i = 0; i < 40; i++)
		total += sum_rows(v);
	printf("</script>%ld\n", total);
	return 0;
}
END
g++ -std=c++17 -O1 -g -pthread -o prog prog.cc || fail "g++"
"$TW" record -q -o p.tw -- ./prog '</script><b>"' >out 2>err || fail "record: $(cat err)"
"$TW" report --html p.html p.tw 2>err || fail "report --html: $(cat err)"
"$TW" report --json p.tw >report.json 2>err || fail "report --json: $(cat err)"
"$TW" analyze cache --json p.tw >cache.json 2>err || fail "analyze cache --json: $(cat err)"
[ "$(wc -c <p.html)" -lt 10000000 ] || fail "the page is large: $(wc -c <p.html) bytes"

"$TW" report --html mangled.html --no-demangle p.tw || fail "report --html --no-demangle"
grep -q '"_Z7recursei"' mangled.html && ! grep -q 'recurse(int)' mangled.html && ! grep -q '"_Z7recursei"' p.html || fail "--no-demangle"

# Of several processes, which workers divide among them, the page is the same each time.
"$TW" record -q -o several.tw -- sh -c 'for i in 1 2 3; do (echo $i | sed s/1/2/); done' >out 2>err || fail "record: $(cat err)"
for k in $(full "1 2 3 4" "1 2 3"); do
	"$TW" report --html several$k.html several.tw 2>err || fail "report --html: $(cat err)"
	cmp -s several1.html several$k.html || fail "page $k of the same recording is another"
done

cat >check.py <<'END'
import json, re
page = open("p.html").read()
assert not re.search(r'(src|href)="(https?:)?//', page), "the page refers to the network"
data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S).group(1))
report = json.load(open("report.json"))
assert data["facts"]["command"][-1] == '</script><b>"', data["facts"]["command"]
assert data["facts"]["insns"] == report["totals"]["instructions"], (data["facts"]["insns"], report["totals"]["instructions"])
insns, found = report["totals"]["instructions"], sum(f[4] for f in data["functions"])
assert abs(found - insns) <= insns / 100, ("functions do not add up", found, insns) # of namesakes, each repetition of a string instruction counts
assert sum(data["tree"]["insns"]) == report["totals"]["instructions"], "the tree does not add up"
by_name = {f[0]: f for f in data["functions"]}
rows = {(f["function"], f["module"]): f for f in report["functions"]}
# Inclusive costs: of functions that both know by name; what report charges to callers of PLT stubs and resolvers is a function here.
for key in (("main", "prog"), ("sum_rows(std::vector<pair_of<long>, std::allocator<pair_of<long> > > const&)", "prog"), ("recurse(int)", "prog")):
    f = next(f for f in data["functions"] if (f[0], f[1]) == key)
    assert f[4] == rows[key]["instructions"], (key, f, rows[key])
    assert abs(f[5] - rows[key]["inclusive_instructions"]) <= 2000, (key, f, rows[key])
    assert key[0] == "main" or f[8] == rows[key]["calls"], (key, f, rows[key])
sum_rows = next(f for n, f in by_name.items() if n.startswith("sum_rows"))
assert sum_rows[8] == 40, sum_rows
code = next(c for c in data["code"] if c["name"].startswith("sum_rows"))
loop = max(x[1] for x in code["insns"])
assert loop == 40 * 5000, loop
assert sum(x[2] for x in code["insns"]) == sum_rows[6], "reads of the listing"
# Misses are those that analyze cache counts: by function and, of its code, by instruction.
cache = json.load(open("cache.json"))
missed = {(r["function"], r["module"]): r for r in cache["functions"]}
for n in ("main", "recurse(int)", sum_rows[0]):
    row = missed.get((n, "prog"), {"l1_misses": 0, "last_misses": 0})
    assert next(f for f in data["functions"] if f[:2] == [n, "prog"])[9:11] == [row["l1_misses"], row["last_misses"]], (n, row)
for k, level in ((9, cache["levels"][0]), (10, cache["levels"][-1])):
    listed, there = sum(f[k] for f in data["functions"]), level["read_misses"] + level["write_misses"]
    assert there - there / 100 - 5 <= listed <= there, (listed, level) # stubs of PLTs are not in the list
for i, c in enumerate(data["code"]):
    assert [sum((x + [0, 0])[k] for x in c["insns"]) for k in (7, 8)] == data["functions"][i][9:11], c["name"]
assert sum(x[7] for x in code["insns"] if len(x) > 7) > 40 * 5000 * 16 // 64 // 2, "the vector does not fit into the first level"
lines = {n + i: t for f, n, ts in code["source"] if code["files"][f].endswith("prog.cc") for i, t in enumerate(ts)}
hot = max((x for x in code["insns"] if x[4] >= 0), key=lambda x: x[1])
assert hot[5] in lines, hot
assert len(data["threads"]) == 2 and all(t[3] <= t[4] for t in data["threads"]), data["threads"]
heat = sum(sum(r["cells"][2::4]) for r in data["heat"]["regions"])
assert heat + data["heat"]["left_out"] >= data["facts"]["reads"] * 0.999, (heat, data["facts"]["reads"])
assert heat <= data["facts"]["reads"], (heat, data["facts"]["reads"])
END
python3 check.py || fail "the page's data"

# A process that executes another program: each program has its name, its memory and its functions.
cat >exec.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
static volatile char NAME[64 << 10];
int main(int argc, char **argv)
{
	for (unsigned i = 0; i < sizeof NAME; i++)
		NAME[i] = (char)argc;
	if (argc > 1 && !fork())
		execv(argv[1], argv + 1);
	return argc > 1 && wait(0) < 0;
}
END
for name in first second; do
	gcc -O1 -g -no-pie -DNAME=$name -o $name exec.c || fail "gcc"
done
"$TW" record -q -o exec.tw ./first ./second || fail "record ./first"
"$TW" report --html exec.html exec.tw || fail "report --html of two programs"
python3 - <<'END' || fail "the page of two programs"
import json, re
data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', open("exec.html").read(), re.S).group(1))
assert [t[7] for t in data["threads"]] == ["first", "first", "second"], data["threads"]
for r in data["heat"]["regions"]:
    assert r["name"] not in ("first", "second") or r["name"] == data["threads"][r["thread"]][7], r
# Whole pages are mapped: what stands before and behind a segment's data on its pages is the file's too.
for before, r, after in zip(data["heat"]["regions"], data["heat"]["regions"][1:], data["heat"]["regions"][2:]):
    assert r["name"] != "mapped (mmap)" or before["name"] != after["name"] or before["thread"] != after["thread"] or int(after["start"], 16) - int(before["start"], 16) > 4 << 20, r
for thread, name in ((0, "first"), (2, "second")):
    writes = sum(sum(r["cells"][3::4]) for r in data["heat"]["regions"] if (r["name"], r["thread"]) == (name, thread))
    assert writes >= 64 << 10, (name, writes)
END

# What is written before a call that waits stands before it in the picture of memory.
cat >waits.c <<'END'
#include <unistd.h>
static volatile char written[64 << 10];
int main(void)
{
	for (unsigned i = 0; i < 30 * sizeof written; i++)
		written[i % sizeof written] = 1;
	usleep(500000);
	return 0;
}
END
gcc -O1 -g -no-pie -o waits waits.c || fail "gcc"
"$TW" record -q -o waits.tw ./waits || fail "record ./waits"
"$TW" report --html waits.html waits.tw || fail "report --html of a program that waits"
python3 - <<'END' || fail "memory of a program that waits"
import json, re
data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', open("waits.html").read(), re.S).group(1))
began = next(c[1] for c in data["syscalls"] if "nanosleep" in c[3])
before = after = 0
for r in data["heat"]["regions"]:
    for _, column, _, writes in zip(*[iter(r["cells"])] * 4):
        if r["name"] != "waits":
            continue
        if column * data["span_ns"] / data["heat"]["columns"] <= began:
            before += writes
        else:
            after += writes
assert before + after >= 30 * (64 << 10) and after < before / 10, (before, after)
END

# Code without debug information: what would be better with it, and how to get it.
gcc -O1 -s -o stripped exec.c -DNAME=stripped || fail "gcc -s"
"$TW" record -q -o stripped.tw ./stripped || fail "record ./stripped"
"$TW" report --html stripped.html stripped.tw || fail "report --html of a stripped program"
python3 - <<'END' || fail "the page of a stripped program"
import json, re
page = open("stripped.html").read()
data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S).group(1))
found = {path: (insns, unnamed) for path, insns, unnamed in data["no_lines"]}
insns, unnamed = next(found[p] for p in found if p.endswith("/stripped"))
assert 0 < unnamed <= insns <= data["facts"]["insns"], found
assert "find-dbgsym-packages" in page and "DEBUGINFOD_URLS" in page
END

# Many functions with long names: the page is cut, says so, and stays below 10 MB.
awk 'BEGIN {
	long = sprintf("%990s", ""); gsub(/ /, "x", long)
	print ".globl main\nmain:\n\tsub $8, %rsp"
	for (i = 0; i < 12000; i++) printf "\tcall f%d_%s\n", i, long
	print "\tadd $8, %rsp\n\txor %eax, %eax\n\tret"
	for (i = 0; i < 12000; i++) printf ".type f%d_%s, @function\nf%d_%s:\n\tmov $%d, %%eax\n\tret\n.size f%d_%s, .-f%d_%s\n", i, long, i, long, i, i, long, i, long
	print ".section .note.GNU-stack,\"\",@progbits"
}' >many.S
gcc -o many many.S || fail "gcc many.S"
"$TW" record -q -o many.tw ./many || fail "record ./many"
"$TW" report --html many.html many.tw || fail "report --html of many functions"
[ "$(wc -c <many.html)" -lt 10000000 ] || fail "the page of many functions has $(wc -c <many.html) bytes"
python3 - <<'END' || fail "the page of many functions"
import json, re
data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', open("many.html").read(), re.S).group(1))
assert data["all_functions"] > 12000 and 500 < len(data["functions"]) < 4000, (data["all_functions"], len(data["functions"]))
assert data["contexts_left_out"] > 8000, data["contexts_left_out"]
n = len(data["tree_names"])
assert all(-1 <= i < n for i in data["tree"]["name"]) and all(-1 <= f < n and 0 <= t < n for f, t, _, _ in data["edges"]), n
assert sum(data["tree"]["insns"]) == data["facts"]["insns"], "the tree does not add up"
END

# What it refuses.
run out err "$TW" report --html x.html --thread 0 p.tw && fail "--html and --thread"
grep -q "cannot be combined with" err || fail "what is said: $(cat err)"
run out err "$TW" report --html nodir/x.html p.tw && fail "a page in no directory"
grep -q 'cannot write nodir/x.html' err || fail "what is said: $(cat err)"
run out err "$TW" report --html p.tw/header p.tw && fail "a page over the recording"
"$TW" record -q -f dep-c -o c.tw -- ./prog x >out 2>err || fail "record -f dep-c"
"$TW" report --html - c.tw >c.html 2>err || fail "a page of control flow alone: $(cat err)"
"$TW" record -q --start=no_such_function -o empty.tw -- ./prog x >out 2>err || fail "record --start"
"$TW" report --html empty.html empty.tw 2>err || fail "a page of a recording that nothing is in: $(cat err)"
"$TW" record -q --sink=count -o n.tw -- ./prog x >out 2>err || fail "record --sink=count"
run out err "$TW" report --html n.html n.tw && fail "a page of totals"

command -v chromedriver >/dev/null && command -v chromium >/dev/null || skip "there is no chromedriver"
cat >browse.py <<'END'
import sys
from browser import *

try:
    open_browser()
    load(sys.argv[1])
    until("document.documentElement.dataset.ready === 'yes'", "the page is ready")
    for i, title in enumerate(["Summary", "Timeline", "Flame graph", "Functions", "Memory over time", "Call graph", "Basic blocks"]):
        run("document.getElementById('tabs').children[arguments[0]].click()", i)
        until(f"document.querySelector('#view h2')?.textContent === '{title}'", title)
    # By keys.
    run("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '4', bubbles: true}))")
    until("location.hash === '#functions'", "key 4")
    until("document.querySelectorAll('#view tbody tr').length > 20", "a table of functions")
    # Sorted by name, then filtered.
    run("[...document.querySelectorAll('#view th button')].find(b => b.textContent.startsWith('function')).click()")
    until("(t => t.length && t.every((x, i) => !i || t[i - 1] <= x))([...document.querySelectorAll('#view tbody tr td:nth-child(9)')].map(x => x.textContent))", "sorted by name")
    run("const i = document.querySelector('#view input[type=search]'); i.value = 'sum_rows'; i.dispatchEvent(new Event('input'))")
    until("document.querySelectorAll('#view tbody tr').length === 1", "filtered")
    run("document.querySelector('#view tbody a').click()")
    until("location.hash.startsWith('#function=sum_rows')", "a link to the function")
    until("document.querySelectorAll('#view tr.has').length > 1", "source lines")
    run("document.querySelector('#view tr.has').click()")
    until("document.querySelectorAll('#view tr.insn').length > 0", "instructions of a line")
    assert "L1 misses" in run("return document.querySelector('#view table.code thead').textContent"), "misses of lines"
    for button, found in (("Disassembly", "table.code tr.block"), ("Control flow", "g.node")):
        run("[...document.querySelectorAll('#view button')].find(b => b.textContent === arguments[0]).click()", button)
        until(f"document.querySelectorAll('#view {found}').length > 1", button)
    before = run("return document.querySelector('.graph g').getAttribute('transform')")
    run("document.querySelector('#view button[aria-label=Larger]').click()")
    until(f"document.querySelector('.graph g').getAttribute('transform') !== '{before}'", "zoomed")
    # The flame graph: found, zoomed, and back.
    go("flame")
    until("document.querySelectorAll('.flame div').length > 5", "the flame graph")
    run("const i = document.querySelector('#view input[type=search]'); i.value = 'recurse'; i.dispatchEvent(new Event('input'))")
    until("document.querySelectorAll('.flame div.found').length > 3", "found in the flame graph")
    run("document.querySelector('.flame div.found').click()")
    until("/in recurse/.test(document.querySelector('#view .bar').textContent)", "zoomed into recurse")
    run("document.querySelector('.flame').dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))")
    until("/in all/.test(document.querySelector('#view .bar').textContent)", "back to all")
    # Columns of names give way where there is little room.
    for place in ("functions", "blocks", "summary", "timeline"):
        go(place)
        until("document.querySelector('#view .scroll td.wide')", "a table with names")
        wide = run("return [...document.querySelectorAll('#view .scroll')].map(s => [s.scrollWidth, s.clientWidth])")
        assert all(a <= b for a, b in wide), (place, wide)
    # The view has the focus, for keys, and no ring around it.
    until("document.activeElement.id === 'view' && getComputedStyle(document.activeElement).outlineStyle === 'none'", "the view's focus is not drawn")
    # Graphs can be read at first, however large; Fit shows all of them.
    go("calls")
    scale = "Number((document.querySelector('.graph g')?.getAttribute('transform') || '').match(/scale[(](.*)[)]/)?.[1])"
    until(f"{scale} >= 0.8", "a graph that can be read")
    run("[...document.querySelectorAll('#view button')].find(b => b.textContent === 'Fit').click()")
    inside = "((a, b) => a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom)(document.querySelector('.graph g').getBoundingClientRect(), document.querySelector('.graph').getBoundingClientRect())"
    until(inside, "all of a graph")
    # A deep link, and one that leads nowhere.
    go("calls=main")
    until("document.querySelectorAll('#view g.node').length > 1", "calls of main")
    go("function=nothing")
    until("/No function of this name/.test(document.getElementById('view').textContent)", "a function that is not there")
    if sys.argv[1].startswith("http"): # served: a question
        go("query")
        run("[...document.querySelectorAll('#view button')].find(b => b.textContent === 'Ask').click()")
        until("document.querySelectorAll('#view tbody tr').length > 5", "an answer")
    # The canvases have something on them (a copy is read: of one that is read again and again the browser complains); dark and light differ.
    copy = "(c => { const g = new OffscreenCanvas(c.width, c.height).getContext('2d'); g.drawImage(c, 0, 0); return g; })"
    for place in ("timeline", "memory"):
        go(place)
        until("(c => c && c.width && " + copy + "(c).getImageData(0, 0, c.width, c.height).data.some(x => x))(document.querySelector('#view canvas'))", place)
    # Dark or light: as the system is, until one is chosen; then as chosen. The browser's own parts follow.
    light = run("return getComputedStyle(document.body).backgroundColor")
    devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    in_session("POST", "/refresh", {})
    until("document.documentElement.dataset.ready === 'yes'", "the page is ready again")
    until(f"getComputedStyle(document.body).backgroundColor !== '{light}' && getComputedStyle(document.documentElement).colorScheme === 'dark'", "dark as the system")
    run("document.getElementById('theme').click()")
    in_session("POST", "/refresh", {})
    until("document.documentElement.dataset.ready === 'yes'", "the page is ready again")
    until(f"getComputedStyle(document.body).backgroundColor === '{light}' && getComputedStyle(document.documentElement).colorScheme === 'light'", "light as chosen")
    run("document.getElementById('theme').click()")
    until(f"getComputedStyle(document.body).backgroundColor !== '{light}'", "dark")
    problems = [e for e in in_session("POST", "/se/log", {"type": "browser"}) if e["level"] in ("SEVERE", "WARNING")]
    assert not problems, problems
finally:
    close_browser()
END
"$TW" serve --port 0 p.tw >served 2>err </dev/null &
server=$!
CLEANUP+=('kill $server 2>/dev/null')
for _ in $(seq 600); do
	[ -s served ] && break
	sleep 0.1
done
for page in "file://$PWD/p.html" "$(cat served)"; do
	left_out "${page%%:*}" file && continue # served it is the same, and more can go wrong
	PYTHONPATH=$ROOT/tests PYTHONDONTWRITEBYTECODE=1 timeout 250 python3 browse.py "$page" >browse.out 2>&1
	status=$?
	[ $status = 77 ] && skip "$(tail -n 1 browse.out)"
	[ $status = 0 ] || fail "$page in the browser: $(tail -n 5 browse.out)"
done
