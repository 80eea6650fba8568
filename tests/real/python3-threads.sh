# python3 with threads, a pool of forked processes, and a timer's signal.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need_command python3
export PYTHONDONTWRITEBYTECODE=1
cat >t.py <<'END'
import multiprocessing, os, queue, signal, threading

def work(n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s

q, out, lock = queue.Queue(), [], threading.Lock()
def consumer():
    while (n := q.get()) is not None:
        r = work(n)
        with lock:
            out.append(r)
threads = [threading.Thread(target=consumer) for _ in range(4)]
for t in threads: t.start()
for n in range(20): q.put(n)
for t in threads: q.put(None)
for t in threads: t.join()
print(len(out), sum(out))
with multiprocessing.get_context('fork').Pool(2) as p:
    print(sum(p.map(work, range(15))))
hits = []
signal.signal(signal.SIGALRM, lambda s, f: hits.append(s))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
while len(hits) < 3: work(10)
signal.setitimer(signal.ITIMER_REAL, 0)
r = os.fork()
if r == 0: os.kill(os.getpid(), signal.SIGTERM)
print(os.waitpid(r, 0)[1])
END
whole /usr/bin/python3 -S t.py
