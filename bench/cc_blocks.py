"""What was inserted into an instrumented program's blocks (for bench/cc).

cc_blocks.py TRACKWAY PROGRAM RECORDING INSERTED FILE: prints instructions inserted for each block that ran, other than for values; values stored for each reference;
and the part of the blocks that ran which had no register free. INSERTED is how many instructions more ran than in the plain program. The program was loaded at fixed
addresses. Into FILE go the hottest blocks: what stands between the first byte of each and the first of what follows it, which its own instructions and inserted ones do.
"""
import bisect, csv, io, json, re, subprocess, sys

trackway, program, recording, inserted, hottest = sys.argv[1:]
inserted = int(inserted)
run = lambda *words: subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout.decode()

info = json.loads(run(trackway, "info", "--json", recording))
blocks, refs = info["blocks"], info["refs"]
match = re.search(r"^values \(M\)\s+(\d+)", run(trackway, "info", recording), re.M)
values = int(match.group(1)) // 8 if match else 0

# Where the thread's words for borrowed registers are, from the thread pointer; where the program begins.
headers = run("readelf", "-lW", program)
tls = re.search(r"^\s*TLS\s+\S+\s+(\S+)\s+\S+\s+\S+\s+(\S+)\s+R\w*\s+(\S+)", headers, re.M)
base = 0x555555554000 if re.search(r"file type is DYN", headers) else 0
spill = None
symbol = re.search(r"^\s*\d+:\s+([0-9a-f]+)\s+\d+ TLS .*\strackway_cc_spill$", run("readelf", "-sW", program), re.M)
if tls and symbol:
    size, align = int(tls.group(2), 16), max(int(tls.group(3), 16), 1)
    spill = int(symbol.group(1), 16) - (size + align - 1) // align * align

code = []  # address, takes a borrowed register back
for line in run("objdump", "-d", "--no-show-raw-insn", program).splitlines():
    match = re.match(r"\s*([0-9a-f]+):\s+(\S.*)", line)
    if match:
        word = re.match(r"mov\s+%fs:0x([0-9a-f]+),%r", match.group(2)) if spill is not None else None
        takes = bool(word) and int(word.group(1), 16) - 2**64 == spill
        code.append((base + int(match.group(1), 16), takes, match.group(2)))
addresses = [c[0] for c in code]

ran = []
for row in csv.DictReader(io.StringIO(run(trackway, "blocks", "--csv", "-n", "0", recording))):
    if row["kind"] == "static":
        first = int(row["first"], 16)
        inside = code[bisect.bisect_left(addresses, first):bisect.bisect_left(addresses, first + int(row["bytes"]))]
        ran.append((int(row["executions"]), first, int(row["instructions"]), inside))
executions = sum(r[0] for r in ran)
borrowed = sum(r[0] for r in ran if any(c[1] for c in r[3]))
print("%8.2f %8.3f %7.2f%%" % ((inserted - values) / max(blocks, 1), values / max(refs, 1), 100 * borrowed / max(executions, 1)))

memory = re.compile(r"\(.*\)|%fs:")
with open(hottest, "w") as out:
    ran.sort(reverse=True)
    for n, first, own, inside in ran[:4]:
        used = sum(1 for c in inside if memory.search(c[2]) and not c[2].startswith(("lea", "nop")))
        print("  %x: %5.1f%% of all executions, %d instructions, %d inserted, %d operands in memory with them" %
              (first, 100 * n / executions, own, len(inside) - own, used), file=out)
