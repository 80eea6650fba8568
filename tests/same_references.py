#!/usr/bin/env python3
"""same_references.py TRACKWAY PROGRAM NATIVE ENGINE: are the references of an instrumented program's own recording those that the engine saw?

Both were recorded with the same layout of memory, but for where the stack, the heap and libraries begin: there the first difference must hold for all.
Only instructions that the first recording names are compared: inserted ones, and what was not instrumented, are the engine's alone.
"""
import subprocess
import sys

trackway, program, native, engine = sys.argv[1:]
symbols = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
end = int([s for s in symbols if s.endswith(" _end")][0].split()[0], 16)


def references(recording):
    with subprocess.Popen([trackway, "dump", "--thread", "0", recording], stdout=subprocess.PIPE, text=True) as dump:
        return [line.split() for line in dump.stdout]


def region(address):
    return "stack" if address > 0x7FFFF8000000 else "libraries" if address > 0x100000000 else "heap" if address >= end else "data"


own = references(native)
pcs = {r[1] for r in own}
seen = [r for r in references(engine) if r[1] in pcs]
if not own:
    sys.exit("no references")
moved = {}
for k, (a, b) in enumerate(zip(own, seen)):
    if a == b:
        continue
    there, here = int(a[3], 16), int(b[3], 16)
    same = a[1:3] == b[1:3] and a[4] == b[4] and region(there) != "data" and region(there) in (region(here), "libraries")
    if not same or (moved.setdefault(region(there), there - here) != there - here and region(there) != "libraries"):
        sys.exit("reference %d: %s, but the engine saw %s" % (k, " ".join(a), " ".join(b)))
if len(own) != len(seen):
    sys.exit("%d references, but the engine saw %d" % (len(own), len(seen)))
