"""Sums up one program's block profile (trackway blocks --json -a -n 0, on standard input): blocks.py PROGRAM DIRECTORY

Appends to DIRECTORY/blocks.csv a row of counts, lengths, endings and edges, and to coverage.csv which part of all instructions the first N likely paths take.
"""
import csv
import json
import sys

THRESHOLD = 0.10  # of a block's executions: what `trackway blocks` leaves out without -a
PATHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def lengths(blocks):
    """Mean instructions of a block, and of an execution of one."""
    runs = sum(b["executions"] for b in blocks)
    mean = sum(b["instructions"] for b in blocks) / max(1, len(blocks))
    return mean, sum(b["instructions"] * b["executions"] for b in blocks) / max(1, runs)


def left_out(blocks, threshold):
    """Edges of IJ blocks below the threshold, and all edges; and how often each were taken."""
    n = n_all = taken = taken_all = 0
    for b in blocks:
        least = b["executions"] * threshold
        for e in b["edges"]:
            n_all += 1
            taken_all += e["count"]
            if b["ending"] == "IJ" and e["count"] < least:
                n += 1
                taken += e["count"]
    return 100 * n / max(1, n_all), 100 * taken / max(1, taken_all)


def main():
    program, directory = sys.argv[1:]
    profile = json.load(sys.stdin)
    row = {"program": program, "instructions": profile["instructions"]}
    for kind in ("static", "dynamic"):
        blocks = profile[kind]
        row[kind] = len(blocks)
        row[kind + "_executions"] = profile[kind + "_executions"]
        row[kind + "_length"], row[kind + "_executed_length"] = (f"{x:.2f}" for x in lengths(blocks))
        for ending in ("NB", "UB", "CB", "IJ"):
            row[f"{kind}_{ending}"] = f"{100 * sum(b['ending'] == ending for b in blocks) / max(1, len(blocks)):.1f}"
        row[kind + "_edges_left_out"], row[kind + "_ways_left_out"] = (f"{x:.2f}" for x in left_out(blocks, THRESHOLD))
    with open(directory + "/blocks.csv", "a", newline="") as f:
        writer = csv.DictWriter(f, row.keys())
        if not f.tell():
            writer.writeheader()
        writer.writerow(row)
    paths = sorted((p["entries"] * p["expected_instructions"] for p in profile["superblocks"]), reverse=True)
    with open(directory + "/coverage.csv", "a", newline="") as f:
        for n in PATHS:
            f.write(f"{program},{n},{min(100.0, 100 * sum(paths[:n]) / max(1, profile['instructions'])):.2f}\n")


main()
