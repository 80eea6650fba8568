"""Tables and figures of the papers' evaluation: report.py MEASURED DOCS

Reads what bench/evaluation/run measured and writes DOCS/results.txt, CSV files and SVG figures (gnuplot).
"""
import csv
import datetime
import math
import os
import platform
import subprocess
import sys
from collections import defaultdict
from statistics import median

MEASURED, DOCS = sys.argv[1:]
SMALL = {"dep": "dep-small", "call": "call", "valgrind none": "valgrind-none", "callgrind": "callgrind", "lackey": "lackey"}


def rows(name, separator=","):
    path = os.path.join(MEASURED, name)
    return [line.rstrip("\n").split(separator) for line in open(path)] if os.path.exists(path) else []


def read_times():
    """Processor time over native, and native seconds, by program and mode."""
    ours, native = defaultdict(list), defaultdict(list)
    for program, mode, _, _, cpu, _, native_cpu in rows("times.csv"):
        ours[program, mode].append(float(cpu))
        native[program, mode].append(float(native_cpu))
    of_size = {"small": defaultdict(list), "main": defaultdict(list)}
    for (program, mode), times in native.items():
        of_size["small" if mode in SMALL.values() else "main"][program] += times
    base = {size: {p: max(median(t), 0.001) for p, t in by.items()} for size, by in of_size.items()}
    ratio = {k: median(t) / base["small" if k[1] in SMALL.values() else "main"][k[0]] for k, t in ours.items()}
    return ratio, base["main"]


RATIO, NATIVE = read_times()
SIZES = {(r[0], r[1]): list(map(int, r[2:])) for r in rows("sizes.csv")}
PROGRAMS = [p for p in dict.fromkeys(r[0] for r in rows("times.csv")) if (p, "stored") in SIZES]
STREAMS = {tuple(r[:3]): float(r[3]) for r in rows("streams", " ")}
TEXT = []


def out(line=""):
    TEXT.append(line.rstrip())


def geomean(values):
    values = [v for v in values if v and v > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def show(value, digits=2):
    return "-" if value is None else f"{value:,.{digits}f}"


def table(title, name, heads, body, last=None):
    """A table in text, and as DOCS/NAME.csv."""
    out(title)
    out()
    lines = [heads] + body + ([last] if last else [])
    width = [max(len(str(line[i])) for line in lines) for i in range(len(heads))]
    for line in lines:
        out("  ".join(str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(line, width))))
    out()
    with open(os.path.join(DOCS, name + ".csv"), "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([str(c).replace(",", "") for c in line] for line in lines)


def plot(name, title, label, log=False, lines=False):
    """The columns of DOCS/NAME.csv as bars (without its last row, the mean, if that is one), or as lines."""
    path = os.path.join(DOCS, name)
    lines_of = open(path + ".csv").read().splitlines()
    n = len(lines_of[0].split(","))
    if not any(cell not in ("", "-") for line in lines_of[1:] for cell in line.split(",")[1:]):
        return  # nothing was measured of it
    style = ["set style data linespoints", "set logscale x"] if lines else [
        "set style data histograms", "set style histogram clustered gap 1", "set style fill pattern 1 border", "set xtics rotate by -35"]
    columns = ", ".join(f"'{path}.csv' using {'1:' if lines else ''}{i}" + ("" if lines or i > 2 else ":xtic(1)") for i in range(2, n + 1))
    script = ["set terminal svg size 960,420 dynamic background 'white' font 'sans,12'", f"set output '{path}.svg'", "set datafile separator ','",
              "set datafile missing '-'", f"set title '{title}'", f"set ylabel '{label}'", "set key outside autotitle columnhead noenhanced",
              "set grid ytics", "set xtics noenhanced", *style, "set logscale y" if log else "set yrange [0:*]", f"plot {columns}"]
    subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, check=True)


def size(program, kind, field):
    return SIZES[program, kind][field] if (program, kind) in SIZES else None


def head():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    said = {name: open(os.path.join(MEASURED, name)).read().split() for name in ("commit", "size", "load")}
    load = sorted(map(float, said["load"]))
    out(f"Measured by `make evaluation` until {datetime.date.today()}, begun at commit {' '.join(said['commit'])}: {os.cpu_count()} x {cpu}, Linux {platform.release()},")
    out(f"load averages from {load[0]} to {load[-1]}; inputs: {said['size'][0]}. Times are processor time over native processor time.")
    out()


def adept_times():
    modes = ["none", "bb_pc+mem_addr", "dep06", "dep"]
    body = [[p, show(NATIVE[p])] + [show(RATIO.get((p, m))) for m in modes] for p in PROGRAMS]
    table("Adept, table 1: native seconds; times over native", "table1", ["program", "native"] + modes, body,
          ["geomean", ""] + [show(geomean([RATIO.get((p, m)) for p in PROGRAMS])) for m in modes])
    body = [[p] + [show(RATIO.get((p, m))) for m in SMALL.values()] for p in PROGRAMS]
    table("Adept, figure 3: times over native, on small inputs (start-up is most of them)", "figure3", ["program", *SMALL], body,
          ["geomean"] + [show(geomean([RATIO.get((p, m)) for p in PROGRAMS])) for m in SMALL.values()])
    plot("figure3", "Slowdown of frameworks, small inputs", "times native", log=True)


def adept_sizes():
    body, shares = [], defaultdict(list)
    for p in PROGRAMS:
        blocks, refs = size(p, "stored", 0), size(p, "stored", 1)
        bb_pc, mem = 4 * blocks, 8 * refs
        dep_c = size(p, "dep06-c", 2)
        cells = [("DEP_C", dep_c, bb_pc), ("CF_bit", size(p, "cf_bit", 2), bb_pc), ("C", size(p, "stored", 3), bb_pc),
                 ("DEP_M", (size(p, "dep06", 2) or 0) - (dep_c or 0), mem), ("M", size(p, "stored", 4), mem)]
        texts = {}
        for name, value, base in cells:
            shares[name].append(value / base if value else None)
            texts[name] = f"{value / 1e6:,.1f} ({100 * value / base:.1f} %)" if value else "-"
        body.append([p, f"{bb_pc / 1e6:,.1f}", texts["DEP_C"], texts["CF_bit"], texts["C"], f"{mem / 1e6:,.1f}", texts["DEP_M"], texts["M"]])
    mean = {k: f"({100 * sum(filter(None, v)) / max(1, len(list(filter(None, v)))):.1f} %)" for k, v in shares.items()}
    table("Adept, table 2: MB before compression; per cent of BB_pc (4 bytes a block) or of Mem_addr (8 bytes a reference). C and M: ours (dep)", "table2",
          ["program", "BB_pc", "DEP_C", "CF_bit", "C", "Mem_addr", "DEP_M", "M"], body,
          ["mean", "", mean.get("DEP_C"), mean.get("CF_bit"), mean.get("C"), "", mean.get("DEP_M"), mean.get("M")])


def adept_threads():
    threads = defaultdict(list)
    for program, _, *numbers in rows("threads", " "):
        blocks, refs, c, m = map(int, numbers)
        threads[program].append((4 * blocks, c, 8 * refs, m))
    body = []
    for p, each in threads.items():
        cells = [p, len(each)]
        for column in zip(*each):
            cells += [show(x / 1e6, 3) for x in (min(column), max(column), sum(column) / len(column))]
        body.append(cells)
    heads = [f"{s} {what}" for s in ("BB_pc", "C", "Mem_addr", "M") for what in ("min", "max", "mean")]
    table("Adept, table 3: MB of each thread before compression", "table3", ["program", "threads"] + heads, body)


def adept_compressed(number, title, base, kinds):
    programs = [p for p in PROGRAMS if (p, base, "raw") in STREAMS]
    heads = [f"{s} {c}" for s, c in kinds]
    values = {p: [100 * STREAMS[p, s, c] / STREAMS[p, base, "raw"] if (p, s, c) in STREAMS else None for s, c in kinds] for p in programs}
    body = [[p] + [show(v) for v in values[p]] for p in programs]
    mean = [geomean([values[p][i] for p in programs]) for i in range(len(kinds))]
    name = f"figure{number}"
    table(f"Adept, figure {number}: {title}", name, ["program"] + heads, body, ["geomean"] + [show(v) for v in mean])
    plot(name, title, f"per cent of {base}", log=True)


def adept():
    adept_times()
    adept_sizes()
    adept_threads()
    coders = ("sequitur", "bzip2", "zstd")
    adept_compressed(4, "control flow compressed, per cent of BB_pc before", "BB_pc",
                     [(s, c) for s in ("BB_pc", "DEP_C", "CF_bit", "C") for c in coders] + [("C", "stored")])
    adept_compressed(5, "memory references compressed, per cent of Mem_addr before", "Mem_addr",
                     [(s, c) for s in ("Mem_addr", "M") for c in coders] + [("M", "stored")])
    body = [[p, show(RATIO.get((p, "replay")))] for p in PROGRAMS]
    table("Adept, figure 6: recovery of all references from a stored recording, on one core, over native", "figure6", ["program", "recovery"], body,
          ["geomean", show(geomean([RATIO.get((p, "replay")) for p in PROGRAMS]))])
    plot("figure6", "Recovery of all references over native", "times native")


def drews():
    blocks = list(csv.DictReader(open(os.path.join(MEASURED, "blocks.csv"))))
    for kind in ("static", "dynamic"):
        heads = ["program", "blocks", "executions", "length", "executed length", "NB %", "UB %", "CB %", "IJ %", "edges left out %", "of ways taken %"]
        fields = ["", "_executions", "_length", "_executed_length", "_NB", "_UB", "_CB", "_IJ", "_edges_left_out", "_ways_left_out"]
        body = [[b["program"]] + [b[kind + f] for f in fields] for b in blocks]
        table(f"Drews: {kind} blocks; instructions of each, and of each execution; endings; edges of IJ blocks below the threshold of 10 %", f"blocks-{kind}", heads, body)
    coverage = defaultdict(dict)
    for program, n, part in rows("coverage.csv"):
        coverage[int(n)][program] = part
    programs = list(dict.fromkeys(r[0] for r in rows("coverage.csv")))
    table("Drews: per cent of all instructions in the first N likely paths", "coverage", ["N"] + programs,
          [[n] + [coverage[n].get(p, "-") for p in programs] for n in sorted(coverage)])
    plot("coverage", "Instructions in the first N likely paths", "per cent", lines=True)


os.makedirs(DOCS, exist_ok=True)
head()
adept()
drews()
with open(os.path.join(DOCS, "results.txt"), "w") as f:
    f.write("\n".join(TEXT).rstrip() + "\n")
