# The constants of the model in docs/cluster.md, and what it says: see bench/cluster/run.
import json, math, os, resource, statistics, subprocess, sys

tw, mpi, work = sys.argv[1:]
runs = int(os.environ["RUNS"])
REFS, CORES, FS, NODE, NET, LATENCY = (float(os.environ[k]) for k in ("REFS", "CORES", "FS", "NODE", "NET", "LATENCY"))
state = f"{work}/state"


def once(*command):
    """Seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu(*command, before=lambda: None, times=runs):
    return statistics.median((before(), once(*command))[1] for _ in range(times))


def analyze(name, recording, *more, **how):
    return cpu(tw, "analyze", name, "-j1", *more, f"{work}/{recording}", **how)


def info(recording):
    return json.loads(subprocess.run([tw, "info", "--json", f"{work}/{recording}"], check=True, capture_output=True).stdout)


def forget():
    if os.path.exists(state):
        os.remove(state)


def waits():
    """Seconds that a rank waits for a piece."""
    command = ["mpirun", "-q", "--bind-to", "none", "-n", "1", mpi, "analyze", "mix", "-j1", "--times", f"{work}/chunks.tw"]
    line = subprocess.run(command, check=True, capture_output=True, text=True).stderr.splitlines()[-1].split()
    return float(line[3]) / (float(line[5]) + 1)


gzip, chunks = info("gzip.tw"), info("chunks.tw")
refs = gzip["refs"]
stored = sum(e.stat().st_size for e in os.scandir(f"{work}/gzip.tw") if e.name.startswith("thread-"))
per_byte, per_chunk = stored / refs, refs / gzip["chunks"]
per_ref = {name: analyze(name, "gzip.tw") / refs for name in ("mix", "footprint", "cct")}
one = cpu(tw, "info", "--json", f"{work}/pages.tw", times=20 * runs)
opening = max(0.0, cpu(tw, "info", "--json", f"{work}/chunks.tw", times=20 * runs) - one) / (chunks["chunks"] - info("pages.tw")["chunks"])
plain = analyze("footprint", "pages.tw")
keeping = analyze("footprint", "pages.tw", "--state", state, before=forget)
size = os.path.getsize(state)
again = analyze("footprint", "pages.tw", "--state", state)
packing, joining = max(0.0, keeping - plain) / size, max(0.0, again - one) / size
asking = statistics.median(waits() for _ in range(runs))

for name, seconds in per_ref.items():
    print(f"replay with {name:10} {seconds * 1e9:8.2f} ns a reference and core")
print(f"stored                 {per_byte:8.3f} bytes a reference, {per_chunk / 1e6:.1f} million references a chunk")
print(f"opening                {opening * 1e6:8.2f} us a chunk (of {chunks['chunks']})")
print(f"asking for a piece     {asking * 1e3:8.2f} ms")
print(f"packing                {packing * 1e9:8.2f} ns a byte of state")
print(f"unpacking and joining  {joining * 1e9:8.2f} ns a byte of state, the answer with it")
print(f"state of footprint     {size / 200000:8.0f} bytes a page")


def model(name, nodes, state_bytes):
    """Seconds: opening, replay or reading, pieces, joining."""
    n_chunks = REFS / per_chunk
    replay = REFS * per_ref[name] / (nodes * CORES)
    reading = REFS * per_byte / min(FS, nodes * NODE)
    last = per_chunk * per_ref[name] + asking * 2 * math.log(max(2, n_chunks / nodes))
    levels = math.ceil(math.log2(nodes)) if nodes > 1 else 0
    return n_chunks * (opening + LATENCY), max(replay, reading), last, levels * state_bytes * (packing + joining + 1 / NET)


for name, what, bytes_ in (("mix", "1 MB of state", 1e6), ("footprint", "1 GB touched", 1e9 / 4096 * size / 200000),
                           ("footprint", "64 GB touched", 64e9 / 4096 * size / 200000)):
    print(f"\n{name}, {what}, {REFS:.0e} references, {CORES:.0f} cores a node\n nodes   open s  replay s   last s   join s    all s     gain")
    first = sum(model(name, 1, bytes_))
    for nodes in (1, 4, 16, 64, 256, 1024, 4096):
        parts = model(name, nodes, bytes_)
        print(f"{nodes:6} " + " ".join(f"{p:8.2f}" for p in parts) + f" {sum(parts):8.1f} {first / sum(parts):8.1f}")
