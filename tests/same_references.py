#!/usr/bin/env python3
"""same_references.py TRACKWAY PROGRAM NATIVE ENGINE: does an instrumented program's own recording hold what the engine saw of the same instructions?

Both were recorded with the same layout of memory, but for where the stack, the heap and libraries begin: there the first difference must hold for all. Strings of the
environment and arguments, above the stack's frames, stand apart: they move by as many bytes as the environment is longer, frames by a multiple of 16.
Every execution of an instruction that the first recording names is compared, with all its references: one that the first lacks is told, too.
"""
import os
import subprocess
import sys
import tempfile

trackway, program, native, engine = sys.argv[1:]
symbols = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
end = int([s for s in symbols if s.endswith(" _end")][0].split()[0], 16)


# Lines "I  address" of instructions, and "kind address,bytes" of the references behind each: `own` of the first recording, `seen` of the same instructions in the second; then
# the pairs that differ from all before them, each behind its number. Recordings have millions of lines, so that is awk's.
PAIRS = r"""set -e -o pipefail
dump() { "$1" dump --lackey --thread 0 "$2"; }
dump "$1" "$2" | awk '/^I/ { sub(/,.*/, "") } { print }' >"$4/own"
dump "$1" "$3" | awk 'FILENAME != "-" { if (/^I/) among[$0]; next } /^I/ { sub(/,.*/, ""); counts = $0 in among } counts' "$4/own" - >"$4/seen"
paste -d: "$4/own" "$4/seen" | awk '!had[$0]++ { print NR - 1 ":" $0 }'
"""


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


def fields(line):
    """Kind, address and bytes (of an instruction: none) of a line."""
    kind, rest = line.split()
    at, _, size = rest.partition(",")
    return kind, int(at, 16), size


with tempfile.TemporaryDirectory() as directory:
    pairs = subprocess.run(["bash", "-c", PAIRS, "-", trackway, native, engine, directory], stdout=subprocess.PIPE, text=True, check=True).stdout
    if os.path.getsize(directory + "/own") == 0:
        sys.exit("no references")
for pair in pairs.splitlines():
    number, own, seen = pair.split(":")
    if not own or not seen:
        sys.exit("%s instructions and references of the %s are the other's, which ends there" % (number, "engine" if seen else "program"))
    (kind, there, size), (kind_here, here, size_here) = fields(own), fields(seen)
    if own == seen and (kind == "I" or region(there) != "stack"):
        continue
    same = kind == kind_here != "I" and size == size_here and region(there) != "data" and region(there) in (region(here), "libraries")
    if not same or not has_moved_too(region(there), there, there - here):
        sys.exit("%s: %s, but the engine saw %s" % (number, own, seen))
