"""Reads callgrind profiles: callgrind.py check PROFILE IR DR DW [ROOT...], callgrind.py same PROFILE VALGRINDS SOURCE

check: the sums of all self costs are those given; each function costs its callers what it costs itself and by its calls, except where it is part of a
       recursion, and except functions nobody called (ROOT: patterns of their names): these cost all there is.
same:  both profiles say the same of the functions of one source file: instructions by line, calls, and what calls cost (outside recursions).
"""
import collections
import fnmatch
import re
import sys

NAME = re.compile(r"(c?ob|fl|fi|fe|cfi|cfl|c?fn)=(?:\((\d+)\) ?)?(.*)")


class Profile:
    def __init__(self, path):
        self.names = {}
        self.own = collections.defaultdict(lambda: [0] * 5)  # by function
        self.lines = collections.Counter()  # Ir by function, file, line
        self.calls = collections.Counter()  # by caller, callee
        self.costs = collections.defaultdict(lambda: [0] * 5)
        self.file_of = {}
        self.totals = None
        with open(path) as f:
            self.read(f)

    def name(self, kind, number, text):
        kind = "fn" if "fn" in kind else "ob" if "ob" in kind else "fl"
        if number and text:
            self.names[kind, number] = text
        return self.names[kind, number] if number else text

    def read(self, f):
        where = {}
        calls = None
        positions = 1
        at = 0
        for line in f:
            line = line.strip()
            m = NAME.match(line)
            if m:
                kind, value = m[1], self.name(*m.groups())
                if kind == "ob":
                    where["ob"] = value
                elif kind in ("fl", "fi", "fe"):
                    where["file"] = value
                    if kind == "fl":
                        where["fl"] = value
                elif kind == "fn":
                    where["fn"] = (value, where.get("ob"), where["fl"])
                    self.file_of[where["fn"]] = where["fl"]
                elif kind == "cob":
                    where["cob"] = value
                elif kind in ("cfi", "cfl"):
                    where["cfl"] = value
                else:
                    callee = (value, where.pop("cob", where.get("ob")), where.pop("cfl", where["file"]))
            elif line.startswith("positions:"):
                positions = len(line.split()) - 1
            elif line.startswith("calls="):
                calls = int(line[6:].split()[0])
            elif re.match(r"jump=|jcnd=", line):
                next(f)
            elif line.startswith("totals:"):
                self.totals = [int(n) for n in line.split()[1:]]
            elif re.match(r"[0-9+*-]", line):
                fields = line.split()
                number = fields[positions - 1]
                at = at if number == "*" else at + int(number) if number[0] in "+-" else int(number)
                cost = [int(n) for n in fields[positions:]]
                if calls is not None:
                    self.calls[where["fn"], callee] += calls
                    add(self.costs[where["fn"], callee], cost)
                    calls = None
                else:
                    add(self.own[where["fn"]], cost)
                    self.lines[where["fn"][0], where["file"], at] += cost[0] if cost else 0


def add(to, more):
    for i, n in enumerate(more):
        to[i] += n


def check(path, ir, dr, dw, *roots):
    p = Profile(path)
    total = [sum(own[i] for own in p.own.values()) for i in range(5)]
    assert total[:3] == [int(ir), int(dr), int(dw)], (total, ir, dr, dw)
    assert p.totals == total[: len(p.totals)] and not any(total[len(p.totals) :]), (p.totals, total)
    excess = {f: list(own) for f, own in p.own.items()}  # what a function costs itself and by its calls, less what it costs its callers
    for (caller, callee), cost in p.costs.items():
        add(excess.setdefault(caller, [0] * 5), cost)
        add(excess.setdefault(callee, [0] * 5), [-n for n in cost])
    recursive = {f[0][:-2] for f in p.own if f[0].endswith("'2")}
    found = {f: cost for f, cost in excess.items() if any(cost) and f[0].removesuffix("'2") not in recursive}
    assert len(found) == len(roots) and all(any(fnmatch.fnmatch(f[0], r) for r in roots) for f in found), found
    assert [sum(cost[i] for cost in found.values()) for i in range(5)] == total, (found, total)


def same(ours, theirs, source):
    a, b = Profile(ours), Profile(theirs)

    def of_source(p):
        functions = {f for f, file in p.file_of.items() if file.endswith(source)}
        lines = {(k[0], k[2]): n for k, n in p.lines.items() if k[1].endswith(source)}
        calls = {(c[0], d[0]): n for (c, d), n in p.calls.items() if c in functions and d in functions}
        costs = {(c[0], d[0]): n[0] for (c, d), n in p.costs.items() if c in functions and d in functions and not d[0].endswith("'2")}
        return lines, calls, costs

    for x, y, what in zip(of_source(a), of_source(b), ("lines", "calls", "costs of calls")):
        assert x and x == y, (what, {k: (x.get(k), y.get(k)) for k in x.keys() | y.keys() if x.get(k) != y.get(k)})
    print(len(of_source(a)[0]), "lines,", len(of_source(a)[1]), "calls are the same")


{"check": check, "same": same}[sys.argv[1]](*sys.argv[2:])
