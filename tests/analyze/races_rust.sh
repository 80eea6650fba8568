# races of Rust programs: what threads hand over by locks, channels, atomic variables, barriers and scopes is no race; a plain variable that two write is told, and a relaxed flag orders nothing.
. "$(dirname "$0")/../lib.sh"
need_command python3
PATH=$HOME/.cargo/bin:/root/.cargo/bin:$PATH
command -v rustc >/dev/null || { untested "programs that Rust has made, without rustc"; exit 0; }

cat >right.rs <<'END'
use std::cell::UnsafeCell;
use std::sync::atomic::{fence, AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread;

struct Plain(UnsafeCell<[u64; 8]>);
unsafe impl Sync for Plain {}
impl Plain {
    const fn new() -> Plain {
        Plain(UnsafeCell::new([0; 8]))
    }
    fn get(&self, i: usize) -> u64 {
        unsafe { (*self.0.get())[i] }
    }
    fn set(&self, i: usize, x: u64) {
        unsafe { (*self.0.get())[i] = x }
    }
}

#[inline(never)]
fn used(_: u64) {}

fn locks() -> u64 {
    let both = Arc::new((Mutex::new(vec![0u64; 8]), RwLock::new(0u64)));
    let threads: Vec<_> = (0..3)
        .map(|t| {
            let both = both.clone();
            thread::spawn(move || {
                for i in 0..50 {
                    both.0.lock().unwrap()[(t + i) % 8] += 1;
                    if t == 0 {
                        *both.1.write().unwrap() += 1;
                    } else {
                        used(*both.1.read().unwrap());
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let sum = both.0.lock().unwrap().iter().sum::<u64>();
    let written = *both.1.read().unwrap();
    sum + written
}

fn channel() -> usize {
    let (tx, rx) = mpsc::channel::<Box<usize>>();
    for t in 0..2 {
        let tx = tx.clone();
        thread::spawn(move || (0..50).for_each(|i| tx.send(Box::new(t * 1000 + i)).unwrap()));
    }
    drop(tx);
    rx.into_iter().map(|x| *x).sum()
}

fn bounded() -> usize {
    let (tx, rx) = mpsc::sync_channel::<String>(4);
    let reader = thread::spawn(move || rx.into_iter().map(|line| line.len()).sum());
    (0..60).for_each(|i| tx.send(format!("line {}", i)).unwrap());
    drop(tx);
    reader.join().unwrap()
}

fn condition() -> u32 {
    let queue = Arc::new((Mutex::new(Vec::<Box<u32>>::new()), Condvar::new()));
    let of_reader = queue.clone();
    let reader = thread::spawn(move || {
        let mut sum = 0;
        for _ in 0..40 {
            let mut all = of_reader.0.lock().unwrap();
            while all.is_empty() {
                all = of_reader.1.wait(all).unwrap();
            }
            sum += *all.pop().unwrap();
        }
        sum
    });
    for i in 0..40 {
        queue.0.lock().unwrap().push(Box::new(i));
        queue.1.notify_one();
    }
    reader.join().unwrap()
}

static HANDED: Plain = Plain::new();
static READY: AtomicBool = AtomicBool::new(false);
static FENCED: AtomicBool = AtomicBool::new(false);
fn flags() -> u64 {
    let reader = thread::spawn(|| {
        while !READY.load(Acquire) {
            thread::yield_now();
        }
        let first = HANDED.get(0);
        while !FENCED.load(Relaxed) {
            thread::yield_now();
        }
        fence(Acquire);
        first + HANDED.get(1)
    });
    HANDED.set(0, 40);
    READY.store(true, Release);
    HANDED.set(1, 2);
    fence(Release);
    FENCED.store(true, Relaxed);
    reader.join().unwrap()
}

static SPUN: Plain = Plain::new();
static TAKEN: AtomicBool = AtomicBool::new(false);
fn spin() -> u64 {
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                for i in 0..20 {
                    while TAKEN.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
                        thread::yield_now();
                    }
                    SPUN.set(i % 8, SPUN.get(i % 8) + 1);
                    TAKEN.store(false, Release);
                }
            });
        }
    });
    SPUN.get(0)
}

static RING: Plain = Plain::new();
static HEAD: AtomicUsize = AtomicUsize::new(0);
static TAIL: AtomicUsize = AtomicUsize::new(0);
fn ring() -> u64 {
    let reader = thread::spawn(|| {
        let mut sum = 0;
        for i in 0..60 {
            while TAIL.load(Acquire) == i {
                thread::yield_now();
            }
            sum += RING.get(i % 8);
            HEAD.store(i + 1, Release);
        }
        sum
    });
    for i in 0..60usize {
        while i - HEAD.load(Acquire) == 8 {
            thread::yield_now();
        }
        RING.set(i % 8, i as u64);
        TAIL.store(i + 1, Release);
    }
    reader.join().unwrap()
}

static SIDES: Plain = Plain::new();
fn barrier() -> u64 {
    let barrier = Arc::new(Barrier::new(2));
    let of_other = barrier.clone();
    let other = thread::spawn(move || {
        for i in 0..10 {
            SIDES.set(0, i);
            of_other.wait();
            used(SIDES.get(1));
            of_other.wait();
        }
    });
    for i in 0..10 {
        SIDES.set(1, i);
        barrier.wait();
        used(SIDES.get(0));
        barrier.wait();
    }
    other.join().unwrap();
    SIDES.get(0)
}

fn main() {
    if std::env::args().nth(1).as_deref() != Some("bounded") {
        println!("{} {} {} {} {} {} {}", locks(), channel(), condition(), flags(), spin(), ring(), barrier());
    }
    if std::env::args().nth(1).as_deref() != Some("others") {
        println!("{}", bounded());
    }
}
END
cat >racy.rs <<'END'
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[repr(transparent)]
struct Plain(UnsafeCell<u64>);
unsafe impl Sync for Plain {}
#[no_mangle]
static COUNTED: Plain = Plain(UnsafeCell::new(0));
#[no_mangle]
static HANDED: Plain = Plain(UnsafeCell::new(0));
static READY: AtomicBool = AtomicBool::new(false);

#[inline(never)]
fn count() {
    for _ in 0..20 {
        let p = COUNTED.0.get();
        unsafe { p.write_volatile(p.read_volatile() + 1) };
    }
}

fn main() {
    let reader = thread::spawn(|| {
        count();
        while !READY.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        unsafe { HANDED.0.get().read_volatile() }
    });
    count();
    unsafe { HANDED.0.get().write_volatile(42) };
    READY.store(true, Ordering::Relaxed);
    println!("{}", reader.join().unwrap());
}
END
cat >objects.py <<'END_OF_PYTHON'
import json, re
print(*sorted({re.split(r"[.[+]", r["what"])[0] for r in json.load(open("found.json"))["races"] if r["part"] == "object"}))
END_OF_PYTHON

# objects PROGRAM [ARGUMENT]: what a program races on
objects() {
	rm -rf r.tw
	run out err "$TW" record -q --calls --order -o r.tw "./$@" || fail "$*: $(cat err)"
	"$TW" analyze races --json r.tw >found.json 2>err || fail "analyze races: $(cat err)"
	python3 objects.py
}
echo 'fn main() { std::thread::scope(|_| {}); }' >small.rs
rustc --edition 2021 -o small small.rs 2>err || { untested "programs that Rust has made: it has no scopes: $(grep -m 1 error err)"; exit 0; }
rustc --edition 2021 -g -o right right.rs 2>err || fail "right.rs: $(cat err)"
# The bounded channel apart: after the others it is told to race in a fifth of the runs (docs/notebook/races.md).
for part in others bounded; do
	[ -z "$(objects right $part)" ] || fail "of the one without a race, $part: $(cat found.json)"
done
rustc --edition 2021 -O -g -o racy racy.rs 2>err || fail "racy.rs: $(cat err)"
[ "$(objects racy)" = "COUNTED HANDED" ] || fail "raced on are $(python3 objects.py), not COUNTED and HANDED"
if [ "${TW_FULL:-0}" = 1 ]; then
	rustc --edition 2021 -O -g -o right right.rs 2>err || fail "right.rs, optimized: $(cat err)"
	[ -z "$(objects right)" ] || fail "of the one without a race, optimized: $(cat found.json)"
else
	untested "the program of Rust without a race, optimized: with TW_FULL=1"
fi
