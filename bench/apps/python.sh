# CPython with threads, processes (fork and spawn), pipes, signals and subprocesses.
. "$(dirname "$0")/lib.sh"
need python3
python=/usr/bin/python3
cat >t.py <<'END'
import concurrent.futures, multiprocessing, os, queue, signal, subprocess, sys, threading

def work(n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s

def child(q, n):
    q.put((n, work(n * 100)))

def main():
    q, out, lock = queue.Queue(), [], threading.Lock()
    def consumer():
        while (n := q.get()) is not None:
            r = work(n)
            with lock:
                out.append(r)
    threads = [threading.Thread(target=consumer) for _ in range(6)]
    for t in threads: t.start()
    for n in range(200): q.put(n)
    for t in threads: q.put(None)
    for t in threads: t.join()
    print(len(out), sum(out))
    with multiprocessing.get_context('fork').Pool(3) as p:
        print(sum(p.map(work, range(300))))
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context('spawn')) as e:
        print(list(e.map(work, [10, 20, 30])))
    mq = multiprocessing.Queue()
    ps = [multiprocessing.Process(target=child, args=(mq, n)) for n in range(4)]
    for p in ps: p.start()
    print(sorted(mq.get() for _ in ps))
    for p in ps: p.join()
    print([subprocess.run(['sh', '-c', f'echo {k}; exit {k}'], capture_output=True).returncode for k in range(3)])
    hits = []
    signal.signal(signal.SIGALRM, lambda s, f: hits.append(s))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    while len(hits) < 5: work(100)
    signal.setitimer(signal.ITIMER_REAL, 0)
    r = os.fork()
    if r == 0: os.kill(os.getpid(), signal.SIGTERM)
    print(os.waitpid(r, 0)[1], len(hits) >= 5)

if __name__ == '__main__':
    main()
END
batch -v $python -S t.py
finish
