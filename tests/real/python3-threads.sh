# python3 with threads, a pool of forked processes, and a timer's signal.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need_command python3
export PYTHONDONTWRITEBYTECODE=1
whole /usr/bin/python3 -S "$ROOT/tests/real/python3-threads.py" 20 15
