# record --order: the order between threads that time stamps give is the order the program itself saw.
. "$(dirname "$0")/../lib.sh"

# stamps DIR: what `dump --order` says of locked instructions and fences
stamps() { "$TW" dump --order "$1" | grep -E ' (lock|mfence|lfence|sfence)-(before|after)$'; }
address() { nm "$1" | awk -v name="$2" '$3 == name { sub(/^0+/, "", $1); print $1 }'; }

# ordered PROGRAM OPTION...: runs PROGRAM with --order; what it prints goes to log
ordered() {
	local program=$1
	shift
	rm -rf r.tw
	"$TW" record -q --order "$@" -o r.tw "$program" >log || fail "$program, $*: exit status $?"
	"$TW" check -q r.tw || fail "$program, $*: check"
}

# Two threads hand a token over. A turn is the compare-and-exchange that took it and the exchange that gave it away. Each is done after the first and before
# the second of its stamps; the program says whose turn was which.
cc_program token -O2 -pthread -no-pie <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
enum { TURNS = 300 };
static volatile int token;
static int order[2 * TURNS], n;
static __attribute__((noinline, noclone)) int take(int me)
{
	int was = me;
	__asm__ volatile(".globl at_take\nat_take: lock cmpxchgl %2, %1" : "+a"(was), "+m"(token) : "r"(2) : "memory", "cc");
	return was == me;
}
static __attribute__((noinline, noclone)) void give(int to)
{
	__asm__ volatile(".globl at_give\nat_give: xchgl %0, %1" : "+r"(to), "+m"(token) : : "memory");
}
static void *run(void *arg)
{
	int me = (int)(long)arg;
	for (int k = 0; k < TURNS; k++) {
		for (int tries = 0; !take(me); tries++)
			if (tries > 50)
				usleep(1);
		order[n++] = me;
		give(!me);
	}
	return NULL;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, run, (void *)1);
	run(0);
	pthread_join(t, NULL);
	for (int k = 0; k < n; k++)
		printf("%d\n", order[k]);
	return 0;
}
END
for format in dep call "dep --verify" bb_pc+mem_addr dep06 "dep06 --verify"; do
	# shellcheck disable=SC2086 # options
	ordered ./token -f $format
	printf 'take %s\ngive %s\n' "$(address token at_take)" "$(address token at_give)" >places
	stamps r.tw >stamps
	awk 'FILENAME == "places" { what[$2] = $1; next }
		FILENAME == "log" { turn[n++] = $1; next }
		what[$3] == "take" && $4 == "lock-before" { before[$2] = $1 }
		what[$3] == "take" && $4 == "lock-after" { taken[$2] = before[$2]; taken_after[$2] = $1 }
		what[$3] == "give" && $4 == "lock-before" { begin[$2, count[$2] + 0] = taken[$2]; done[$2, count[$2] + 0] = taken_after[$2]; given[$2, count[$2] + 0] = $1 }
		what[$3] == "give" && $4 == "lock-after" { given_after[$2, count[$2]++] = $1 }
		END {
			if (n != 600 || count[0] != 300 || count[1] != 300) { print "turns: " n ", " count[0] ", " count[1]; exit 1 }
			for (k = 0; k < n; k++) {
				t = turn[k]; i = seen[t]++
				if (begin[t, i] > done[t, i] || done[t, i] > given[t, i]) { print "turn " k ": its own stamps are out of order"; bad++ }
				# given (in [g0, g1]) before it was taken (in [t0, t1]): certain where g1 < t0; wrong if t1 < g0
				if (k && done[t, i] < g0) { print "turn " k ": was taken before it was given"; bad++ }
				certain += k && g1 < begin[t, i]
				g0 = given[t, i]; g1 = given_after[t, i]
			}
			if (bad) exit 1
		}' places log stamps >said || fail "token, $format: $(head -n 3 said)"
done

# A counter under a mutex, with a fence inside: fences of different turns cannot overlap, so their stamps give the order exactly.
cc_program counter -O2 -pthread <<'END'
#include <pthread.h>
#include <stdio.h>
enum { TURNS = 2000 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int order[2 * TURNS], n;
static void *run(void *arg)
{
	for (int k = 0; k < TURNS; k++) {
		pthread_mutex_lock(&lock);
		__asm__ volatile("mfence" : : : "memory");
		order[n++] = (int)(long)arg;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}
int main(void)
{
	pthread_t t[2];
	for (long k = 0; k < 2; k++)
		pthread_create(&t[k], NULL, run, (void *)(k + 1));
	for (int k = 0; k < 2; k++)
		pthread_join(t[k], NULL);
	for (int k = 0; k < n; k++)
		printf("%d\n", order[k]);
	return 0;
}
END
for k in 1 2 3; do
	ordered ./counter --hot=1
	stamps r.tw | awk '$4 ~ /mfence/' >stamps
	[ "$(wc -l <stamps)" = 8000 ] || fail "counter: $(wc -l <stamps) stamps of mfence instead of 8000"
	awk '$4 == "mfence-before" { if (open) exit 1; open = 1 } $4 == "mfence-after" { if (!open) exit 1; open = 0; print $2 }' stamps >found ||
		fail "counter: two fences overlap"
	# threads are numbered in the order in which they came to run
	paste -d' ' found log | sort -u >pairs
	[ "$(wc -l <pairs)" = 2 ] || fail "counter: the order of the stamps is not the program's"
done
if [ "$("$TW" info --json r.tw | grep -o '"stamps": [0-9]*' | grep -o '[0-9]*')" -lt 16000 ]; then fail "info: too few stamps"; fi
"$TW" info r.tw | grep -q '^clock *time stamp counter at [0-9.]* GHz' || fail "info does not say what the clock is"

# Every kind, counted, while a timer interrupts all the time; a lock that faults has the first stamp only; without the counter times are 0.
cc_program kinds -O1 -no-pie <<'END'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
static sigjmp_buf back;
static volatile int hits;
static void on_alarm(int s) { hits += s != 0; }
static void on_fault(int s) { (void)s; siglongjmp(back, 1); }
static long cell, *nowhere;
int main(void)
{
	struct itimerval every = {{0, 200}, {0, 200}};
	unsigned long a = 1, b = 2, c = 3, d = 4, flags;
	signal(SIGALRM, on_alarm);
	signal(SIGSEGV, on_fault);
	nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int k = 0; k < 8000; k++) {
		__asm__ volatile(".globl at_lock\nat_lock: lock addq $1, %0\n"
		                 ".globl at_xchg\nat_xchg: xchgq %%rax, %1\n"
		                 ".globl at_mfence\nat_mfence: mfence\n.globl at_lfence\nat_lfence: lfence\n.globl at_sfence\nat_sfence: sfence\n"
		                 ".globl at_r11\nat_r11: lock xaddq %%r11, %0\n"
		                 "stc\nlock incq %0\npushfq\npopq %%rbx"
		                 : "+m"(cell), "+m"(c), "+a"(a), "=b"(flags), "+d"(d) : : "r11", "memory", "cc");
		if (!(flags & 1) || d != 4)
			return printf("flags %lx, rdx %lx\n", flags, d), 1;
		a ^= b;
	}
	if (!sigsetjmp(back, 1))
		__asm__ volatile(".globl at_fault\nat_fault: lock incq %0" : "+m"(*nowhere) : : "cc");
	memset(&every, 0, sizeof every);
	setitimer(ITIMER_REAL, &every, NULL);
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	__asm__ volatile(".globl at_dark\nat_dark: lock incq %0" : "+m"(cell) : : "cc");
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	puts(hits ? "interrupted" : "never interrupted");
	return 0;
}
END
for name in lock xchg mfence lfence sfence r11; do
	kind=$name
	[[ $name = *fence ]] || kind=lock
	for when in before after; do echo "8000 $(address kinds at_$name) $kind-$when"; done
done >kinds.wanted
printf '%s\n' "1 $(address kinds at_fault) lock-before" "1 $(address kinds at_dark) lock-before" "1 $(address kinds at_dark) lock-after" >>kinds.wanted
for format in dep "dep --verify" dep-c dep06 "dep06 --verify" dep06-c; do
	# shellcheck disable=SC2086
	ordered ./kinds -f $format
	grep -q '^interrupted' log || fail "kinds, $format: $(cat log)"
	# one that a signal stopped before it took effect has a first stamp, and then another
	stamps r.tw >kinds.stamps
	awk '$4 ~ /after/ { if (last !~ /before/) exit 1 } { last = $4 }' kinds.stamps || fail "kinds, $format: a second stamp without a first"
	awk '{ if ($4 ~ /before/ && $3 == at && last ~ /before/) next; at = $3; last = $4; print $3, $4 }' kinds.stamps | sort | uniq -c | awk '{ $1 = $1; print }' >kinds.found
	while read -r line; do
		grep -qxF "$line" kinds.found || fail "kinds, $format: not '$line' but '$(grep "${line#* }" kinds.found)'"
	done <kinds.wanted
	! grep -q "$(address kinds at_fault) lock-after" kinds.found || fail "kinds, $format: an instruction that faulted has a second stamp"
done

# Processes: the times are of one clock
"$TW" record -q --order -o fork.tw sh -c '(true); (true)' && "$TW" check -q fork.tw || fail "fork"
"$TW" dump --order fork.tw | awk '{ if ($1 + 0 < last + 0) exit 1; last = $1 }' || fail "dump --order is not in the order of time"

# windows, and what cannot be
ordered ./counter --start=run
[ "$(stamps r.tw | grep -c mfence-after)" = 4000 ] || fail "in a window the fences are not stamped"
"$TW" dump --order r.tw | grep -q ' window-open$' || fail "dump --order does not tell of the window"
ordered ./counter --sink=count
one_sentence "$TW" dump --order r.tw
one_sentence "$TW" record --order -f none ./counter
one_sentence "$TW" dump --order --raw r.tw
