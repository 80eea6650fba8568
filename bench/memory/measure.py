# The greatest memory of analyzers, by unit: see bench/memory/run.
import os, subprocess, sys

tw, work = sys.argv[1:]
# Analyzer, kind of unit, how many, bytes that the man page allows for one, options. A function executes 9 instructions, 5 of which make a reference, in 5 blocks and fragments.
ROWS = [
    ("footprint", "pages", 50000, 1152 + 32, []),
    ("deps", "words", 400000, 16384 / 512, []),
    ("sharing", "lines", 100000, 200 + 2 * 128, []),
    ("heap", "blocks", 100000, 300 + 3 + 4 * 4, []),
    ("touch", "accesses", 100000, 192, ["counter", "--most", "1000000"]),
    ("races", "words", 400000, 64, []),
    ("mix", "functions", 2000, 5 * 32 + 5 * 32 + 5 * 48 + 5 * 456, []),
    ("branches", "functions", 2000, 208, []),
    ("cct", "functions", 2000, 2 * 140 + 5 * (164 + 124), []),
    ("cct", "repeated", 2000, 2 * 140 + 5 * (164 + 124 + 230), []),
    ("cache", "functions", 2000, 9 * 64 + 5 * 16 + 5 * 500, []),
]


def peak(*command):
    """Bytes of its greatest resident set, by itself."""
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"bench/memory: {' '.join(command)} failed")
    return usage.ru_maxrss * 1024


def functions(n, times):
    """A program of n functions with a branch, called one after the other, so many times."""
    source = f"{work}/functions-{n}-{times}.c"
    with open(source, "w") as f:
        f.write("volatile long x;\n")
        for i in range(n):
            f.write(f"__attribute__((noinline)) void f{i}(void) {{ if (x > {i}) x++; else x--; }}\n")
        f.write(f"int main(void) {{ for (int i = 0; i < {times}; i++) {{\n" + "".join(f"f{i}();\n" for i in range(n)) + "}\nreturn 0; }\n")
    subprocess.run(["cc", "-O1", "-fno-ipa-icf", "-fno-if-conversion", "-o", source[:-2], source], check=True)
    return [source[:-2]]


def record(kind, n):
    dir = f"{work}/{kind}-{n}.tw"
    if not os.path.exists(dir):
        times = {"functions": 1, "repeated": 300}.get(kind)
        command = functions(n, times) if times else [f"{work}/units", kind, str(n)]
        subprocess.run([tw, "record", "-q", "--calls", "--order", "-o", dir, "--", *command], check=True)
    return dir


print("analyzer   unit           bytes each   at most")
for name, kind, n, most, more in ROWS:
    own = []
    for count in (n, 2 * n):
        dir = record(kind, count)
        what = [more[0]] if name == "touch" else []
        own.append(peak(tw, "analyze", name, "-j1", *more, dir) - peak(tw, "check", "-j1", dir))
    each = (own[1] - own[0]) / n
    print(f"{name:10} {kind:12} {each:12.1f} {most:9.0f}{'' if each <= most * 1.02 else '   MORE'}")
