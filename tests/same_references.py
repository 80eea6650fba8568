#!/usr/bin/env python3
"""same_references.py TRACKWAY PROGRAM NATIVE ENGINE: does an instrumented program's own recording hold what the engine saw of the same instructions?

Both were recorded with the same layout of memory, but for where the stack, the heap and libraries begin: there the first difference must hold for all. Strings of the
environment and arguments, above the stack's frames, stand apart: they move by as many bytes as the environment is longer, frames by a multiple of 16.
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


moved = {}  # by region, and how far it is away: the lowest and highest address


def has_moved_too(region, address, by):
    """May it be so far away, too, with what is known?"""
    at = moved.setdefault(region, {})
    low, high = at.get(by, (address, address))
    at[by] = min(low, address), max(high, address)
    if region == "libraries" or len(at) == 1:
        return True
    frames, strings = sorted(at, key=at.get)
    return region == "stack" and len(at) == 2 and frames % 16 == 0 and at[frames][1] < at[strings][0]


own = list(executed(native))
seen = list(executed(engine, {e[1] for e in own if e[0] == "I"}))
if not own:
    sys.exit("no references")
at = ""
for k, (a, b) in enumerate(zip(own, seen)):
    if a[0] == "I":
        at = a[1]
    if a == b and (a[0] == "I" or region(int(a[1], 16)) != "stack"):
        continue
    there, here = int(a[1], 16), int(b[1], 16)
    same = a[0] == b[0] != "I" and a[2] == b[2] and region(there) != "data" and region(there) in (region(here), "libraries")
    if not same or not has_moved_too(region(there), there, there - here):
        sys.exit("%d, at %s: %s, but the engine saw %s" % (k, at, " ".join(a), " ".join(b)))
if len(own) != len(seen):
    sys.exit("%d instructions and references, but the engine saw %d" % (len(own), len(seen)))
