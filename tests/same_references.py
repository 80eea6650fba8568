#!/usr/bin/env python3
"""same_references.py TRACKWAY PROGRAM NATIVE ENGINE: does an instrumented program's own recording hold what the engine saw of the same instructions?

Both were recorded with the same layout of memory, but for where the stack, the heap and libraries begin: there the first difference must hold for all.
Every execution of an instruction that the first recording names is compared, with all its references: one that the first lacks is told, too.
"""
import subprocess
import sys

trackway, program, native, engine = sys.argv[1:]
symbols = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
end = int([s for s in symbols if s.endswith(" _end")][0].split()[0], 16)


def executed(recording, among=None):
    """Instructions (I, address) and references (kind, address, bytes) behind each, in order; `among` are the instructions that count."""
    with subprocess.Popen([trackway, "dump", "--lackey", "--thread", "0", recording], stdout=subprocess.PIPE, text=True) as dump:
        counts = False
        for line in dump.stdout:
            kind, what = line.split()
            address, size = what.split(",")
            if kind == "I":
                counts = among is None or address in among
            if counts:
                yield (kind, address, "" if kind == "I" else size)


def region(address):
    return "stack" if address > 0x7FFFF8000000 else "libraries" if address > 0x100000000 else "heap" if address >= end else "data"


own = list(executed(native))
seen = list(executed(engine, {e[1] for e in own if e[0] == "I"}))
if not own:
    sys.exit("no references")
moved, at = {}, ""
for k, (a, b) in enumerate(zip(own, seen)):
    if a[0] == "I":
        at = a[1]
    if a == b:
        continue
    there, here = int(a[1], 16), int(b[1], 16)
    same = a[0] == b[0] != "I" and a[2] == b[2] and region(there) != "data" and region(there) in (region(here), "libraries")
    if not same or (moved.setdefault(region(there), there - here) != there - here and region(there) != "libraries"):
        sys.exit("%d, at %s: %s, but the engine saw %s" % (k, at, " ".join(a), " ".join(b)))
if len(own) != len(seen):
    sys.exit("%d instructions and references, but the engine saw %d" % (len(own), len(seen)))
