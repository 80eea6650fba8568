# Rust panics that unwind through a shared library and the shared standard library, in threads, through destructors and callbacks, thrown again, and where
# nobody catches them: a panic while one unwinds aborts, one out of main ends with status 101.
. "$(dirname "$0")/lib.sh"
need rustc
cat >thrower.rs <<'END'
use std::cell::Cell;
thread_local! { static LIVE: Cell<i64> = Cell::new(0); }
pub struct Guard;
impl Guard {
    pub fn new() -> Guard { LIVE.with(|l| l.set(l.get() + 1)); Guard }
}
impl Drop for Guard {
    fn drop(&mut self) { LIVE.with(|l| l.set(l.get() - 1)); }
}
pub fn live() -> i64 { LIVE.with(|l| l.get()) }
pub struct Payload(pub i64);
#[inline(never)]
pub fn thrower(depth: i64) -> i64 {
    let _g = Guard::new();
    if depth == 0 {
        std::panic::panic_any(Payload(live()));
    }
    thrower(depth - 1) + 1
}
#[inline(never)]
pub fn calls_back(f: &mut dyn FnMut(i64) -> i64, n: i64) -> i64 {
    let _g = Guard::new();
    f(n) + 1
}
END
cat >main.rs <<'END'
extern crate thrower;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use thrower::{calls_back, live, thrower as throws, Guard, Payload};

fn value(e: Box<dyn std::any::Any + Send>) -> i64 {
    if let Some(p) = e.downcast_ref::<Payload>() { return p.0; }
    if let Some(s) = e.downcast_ref::<String>() { return s.len() as i64; }
    if let Some(s) = e.downcast_ref::<&str>() { return s.len() as i64; }
    -1
}

fn once(n: i64) -> i64 {
    let table = vec![1, 2, 3];
    let mut back = |k: i64| -> i64 {
        let _g = Guard::new();
        match k % 5 {
            0 => throws(k % 7),
            1 => table[k as usize],             // out of bounds
            2 => i64::from_str_radix("x", 10).unwrap(), // an Err
            3 => match catch_unwind(|| throws(3)) { Ok(v) => v, Err(e) => resume_unwind(e) },
            _ => k,
        }
    };
    match catch_unwind(AssertUnwindSafe(|| calls_back(&mut back, n + 5))) {
        Ok(v) => v,
        Err(e) => value(e),
    }
}

struct Bad;
impl Drop for Bad {
    fn drop(&mut self) { panic!("while unwinding"); }
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let s: i64 = (0..2000).map(once).sum();
    println!("{} {}", s, live());
    let threads: Vec<_> = (0..4).map(|k| std::thread::spawn(move || { let s: i64 = (0..300).map(once).sum(); s + throws(k) })).collect();
    for t in threads { println!("thread {}", value(t.join().unwrap_err())); }
    match std::env::args().nth(1).as_deref() {
        Some("abort") => { let _b = Bad; panic!("first"); }
        Some("main") => panic!("out of main"),
        _ => {}
    }
}
END
rustc -O -C prefer-dynamic --crate-type dylib thrower.rs 2>build.err && rustc -O -C prefer-dynamic -L . -o rustprogram main.rs 2>build.err || {
	cat build.err
	exit 1
}
export LD_LIBRARY_PATH=$WORK:$(rustc --print target-libdir)
cat >steps.sh <<'END'
for how in none abort main; do ./rustprogram $how 2>/dev/null; echo "$how: $?"; done
END
bash steps.sh 2>/dev/null | grep -q '^main: 101' || { printf 'FAIL %-12s it does not run natively\n' "$APP"; exit 1; }
batch -v bash steps.sh
finish
