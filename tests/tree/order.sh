# The order of the folders of src/: each may include and call those that stand below it in its part, and nothing else. It is written here, and shown in
# docs/internals.md. A new folder is one line more.
# Within a folder there is one too: what files include and call of each other leads round in no circle. A header and the source of the same name are one file here. The
# rooms of the engine (room.h) and the run-time part of instrumented programs (runtime.h) say in which order theirs stand, and have to have it.
# What a lower folder has to call of a higher one it calls through a table of functions, which wiring.c fills (src/engine/wiring.c).
. "$(dirname "$0")/../lib.sh"

cat >order <<'END_OF_ORDER'
tool: what runs outside of the traced program
	mpi
	cli
	cli/wrapped
	cc
	serve
	top
	html
	sql
	cc/batch
	analyzers
	live
	plugin
	export
	import
	report
	learn
	names
	analyze
	replay
	channel
	attach
	recording
	jit
engine: what runs within
	engine/start.S
	engine/main.c engine/wiring.c
	instrument
	engine/kernel
	engine/signal
	engine/code
	engine/record
	engine/x86_64
	engine
carried: what programs carry that were instrumented when they were compiled
	cc/guard
	cc/copying
	cc/sequences
	cc/handover
	cc/twice
	cc/runtime
shared: what both use
	base
	include/trackway
END_OF_ORDER

cat >check.py <<'END_OF_PYTHON'
import glob, os, re, subprocess, sys

root, build = sys.argv[1:]
part, level, problems = {}, {}, []
for number, line in enumerate(open("order")):
    if not line.startswith("\t"):
        now = line.split(":")[0]
    for name in line.split() if line.startswith("\t") else []:
        part[name], level[name] = now, number

def place(path):
    """The entry of the order that a file, its path below src/, belongs to."""
    return path if path in level else os.path.dirname(path)

# The rewriter of `trackway cc` decodes and plans as the engine does, by the engine's own code, of which the tool has a copy.
BORROWED = {"cc": ("engine/x86_64", "engine/record", "engine", "instrument")}

def allowed(a, b):
    if b in BORROWED.get(a, ()) or a.startswith("engine") and b == "cc":
        return True
    return a == b or level[a] < level[b] and part[b] in (part[a], "shared")

def arrow(source, target, how):
    a, b = place(source), place(target)
    for p in (a, b):
        if p not in level:
            problems.append(f"{p}/ has no place in the order (tests/tree/order.sh)")
            return
    if not allowed(a, b):
        problems.append(f"src/{source} {how}: {a} stands not above {b}")

# What each file, source and header in one, uses of which others, and by what.
used = {}

def uses(source, target, how):
    """(What the decoder calls in the engine stands in the rewriter, where that has its copy.)"""
    a, b = (os.path.splitext(p)[0] for p in (source, target))
    if a != b and not (a.startswith("engine") and b.startswith("cc/")):
        used.setdefault(a, {}).setdefault(b, []).append(how)

def circles():
    """Files that lead to each other (Tarjan 1972)."""
    found, index, low, stack = [], {}, {}, []

    def visit(a):
        index[a] = low[a] = len(index)
        stack.append(a)
        for b in used.get(a, ()):
            if b not in index:
                visit(b)
            if b in stack:
                low[a] = min(low[a], low[b])
        if low[a] == index[a]:
            members = stack[stack.index(a):]
            del stack[stack.index(a):]
            if len(members) > 1:
                found.append(sorted(members))

    for a in used:
        if a not in index:
            visit(a)
    return found

def order_of(room, header):
    """The files of a room as its header has them, the lowest first."""
    text = re.sub(r"\n \*", "", open(f"{root}/src/{room}/{header}").read())
    said = re.search(r"Its files, each of which stands on those before it only: (.*?)\.(?=[ /])", re.sub(r"\([^)]*\)", "", text) + " ")
    return re.findall(r"\w+", said[1]) if said else []

def check_room(room, header):
    said = order_of(room, header)
    there = {os.path.basename(os.path.splitext(p)[0]) for p in glob.glob(f"{root}/src/{room}/*.[chS]")} - {os.path.splitext(header)[0]}
    for name in sorted(there ^ set(said)):
        problems.append(f"src/{room}/{header}: {name} " + ("has no place among its files" if name in there else "is no file"))
    place = {f"{room}/{name}": k for k, name in enumerate(said)}
    for a in place:
        for b in used.get(a, ()):
            if place.get(b, -1) > place[a]:
                problems.append(f"src/{room}/{header}: {a} stands before {b} and uses it: {', '.join(sorted(set(used[a][b]))[:4])}")

def included(line):
    """The file that a line includes, below src/ or as include/...; None: it is none of ours."""
    m = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
    if m and os.path.exists(f"{root}/src/{m[1]}"):
        return m[1]
    return f"include/{m[1]}" if m and os.path.exists(f"{root}/include/{m[1]}") else None

def sources():
    return [p[len(root) + 5:] for p in glob.glob(f"{root}/src/**/*.[chS]", recursive=True)]

n_includes = 0
for source in sources():
    for line in open(f"{root}/src/{source}"):
        target = included(line)
        if target:
            n_includes += 1
            arrow(source, target, f"includes {target}")
            uses(source, target, f"includes {target}")

# The same of calls, in what was built: a declaration that stands elsewhere hides no arrow.
TABLE = re.compile(r"tw_\w+_calls$")
n_calls = 0
for program in ("obj", "engine", "runtime"):
    objects = f"{build}/{program}/src/"
    of = {o: o[len(objects):-2] for o in glob.glob(objects + "**/*.o", recursive=True)}
    of = {o: s for o, s in of.items() if os.path.exists(f"{root}/src/{s}")}
    defined, wanted = {}, []
    for line in subprocess.run(["nm", "-A", "-g", *of], capture_output=True, text=True, check=True).stdout.splitlines():
        where, *_, kind, symbol = line.split()
        source = of[where.split(":")[0]]
        if kind == "U":
            wanted.append((source, symbol))
        elif kind not in "wv" and (symbol.startswith("tw_") or place(source) != "cli/wrapped"): # weak: what a higher one may bring; wrapped: a library's own
            defined[symbol] = source
    for source, symbol in wanted:
        target = defined.get(symbol)
        if target and not (target == "engine/wiring.c" and TABLE.match(symbol)):
            n_calls += 1
            arrow(source, target, f"uses {symbol} of src/{target}")
            uses(source, target, symbol)

for members in circles():
    problems.append(f"{len(members)} files in a circle:" + "".join(
        f"\n    {a} uses {b}: {', '.join(sorted(set(used[a][b]))[:4])}" for a in members for b in sorted(used[a]) if b in members))

for room in sorted(p for p in level if re.match(r"engine/\w+$", p)):
    check_room(room, "room.h")
check_room("cc/runtime", "runtime.h")

for p in sorted(set(problems)):
    print(p)
print(f"{n_includes} includes, {n_calls} calls")
sys.exit(bool(problems) or n_includes < 800 or n_calls < 1000)
END_OF_PYTHON

python3 check.py "$ROOT" "$BUILD"
