# CPython with threads, processes (fork and spawn), pipes, signals and subprocesses.
. "$(dirname "$0")/lib.sh"
need python3
export PYTHONDONTWRITEBYTECODE=1
LIMIT=1800 # with --verify
batch -v /usr/bin/python3 -S "$ROOT/tests/real/python3-threads.py" 200 300 all
finish
