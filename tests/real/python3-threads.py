"""Threads, pools of processes, a timer's signal, a child that dies of one. Arguments: jobs for the threads, for the pool; `all`: also processes that
are spawned, and other programs."""
import concurrent.futures, multiprocessing, os, queue, signal, subprocess, sys, threading

def work(n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s

def child(q, n):
    q.put((n, work(n * 100)))

def threads(jobs, workers):
    q, out, lock = queue.Queue(), [], threading.Lock()
    def consumer():
        while (n := q.get()) is not None:
            r = work(n)
            with lock:
                out.append(r)
    all = [threading.Thread(target=consumer) for _ in range(workers)]
    for t in all: t.start()
    for n in range(jobs): q.put(n)
    for t in all: q.put(None)
    for t in all: t.join()
    print(len(out), sum(out))

def spawned():
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context('spawn')) as e:
        print(list(e.map(work, [10, 20, 30])))
    mq = multiprocessing.Queue()
    ps = [multiprocessing.Process(target=child, args=(mq, n)) for n in range(4)]
    for p in ps: p.start()
    print(sorted(mq.get() for _ in ps))
    for p in ps: p.join()
    print([subprocess.run(['sh', '-c', f'echo {k}; exit {k}'], capture_output=True).returncode for k in range(3)])

def timer():
    hits = []
    signal.signal(signal.SIGALRM, lambda s, f: hits.append(s))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    while len(hits) < 3: work(10)
    signal.setitimer(signal.ITIMER_REAL, 0)

def main(jobs, pool, everything):
    threads(jobs, 6 if everything else 4)
    with multiprocessing.get_context('fork').Pool(3 if everything else 2) as p:
        print(sum(p.map(work, range(pool))))
    if everything:
        spawned()
    timer()
    r = os.fork()
    if r == 0: os.kill(os.getpid(), signal.SIGTERM)
    print(os.waitpid(r, 0)[1])

if __name__ == '__main__':
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] == ['all'])
