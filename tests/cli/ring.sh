# record --ring: of what ran only the last is kept, which is a whole recording with a gap before it; `trackway keep` stores it while the program runs, and --keep-when what was
# before a function.
. "$(dirname "$0")/../lib.sh"

cc_program phases <<'EOF'
#include <stdio.h>
#include <unistd.h>
static volatile unsigned table[1 << 16];
static inline __attribute__((always_inline)) unsigned random_step(unsigned x, int n)
{
	for (int i = 0; i < n; i++)
	{
		x = x * 1664525 + table[x >> 16] + 1013904223;
		table[x >> 16] += x;
	}
	return x;
}
static __attribute__((noinline)) unsigned early(unsigned x) { return random_step(x, 1500000) + 1; }
static __attribute__((noinline)) unsigned late(unsigned x) { return random_step(x, 500000) + 2; }
static __attribute__((noinline)) unsigned event(unsigned x) { return random_step(x, 1000) + 3; }
int main(int argc, char **argv)
{
	unsigned x = early(early(1));
	x = event(late(x));
	puts("ready");
	fflush(stdout);
	while (argc > 1 && access(argv[1], F_OK))
		usleep(1000);
	printf("%u\n", late(x));
	return 7;
}
EOF
# stored_bytes: of the streams, which the ring has a limit for
stored_bytes() { cat recording.tw/thread-* | wc -c; }
gap() { "$TW" dump --raw recording.tw 2>/dev/null | grep -q 'only the last of what ran was kept'; }

same_as_native ./phases
check_good
whole=$(info_value instructions)
all=$(stored_bytes)

RECORD_OPTIONS=(--ring="$(awk -v n="$all" 'BEGIN { printf "%.3f", n / 4 / 1024 }')k")
same_as_native ./phases
check_good
gap || fail "the gap is not told"
[ "$(info_value instructions)" -lt "$whole" ] || fail "all is there"
[ "$(info_value instructions)" -gt 0 ] || fail "nothing is there"
seen=$(($(info_value instructions) + $(info_value dropped)))
[ $seen -gt $((whole * 99 / 100)) ] && [ $seen -lt $((whole * 101 / 100)) ] || fail "info tells of $seen instructions, kept and dropped, and there are $whole"
"$TW" info recording.tw | grep -q '^kept .*instructions before were dropped (--ring)$' || fail "info: $("$TW" info recording.tw)"
[ "$(stored_bytes)" -le $((all * 3 / 4)) ] || fail "$(stored_bytes) of $all bytes are kept"
"$TW" report recording.tw >report.out
grep -q late report.out || fail "what ran last is not there"
grep -q '^only the last .*% of what ran is here' report.out || fail "report does not say that it is the last part only"

# What the ring begins with is within calls that it has not seen: that is part of what these functions cost with all that they call.
cc_program within <<'EOF'
#include <stdio.h>
static volatile unsigned table[1 << 16];
static __attribute__((noinline)) unsigned leaf(unsigned x)
{
	for (int i = 0; i < 2000; i++) {
		x = x * 1664525 + table[x >> 16] + 1013904223;
		table[x >> 16] += x;
	}
	return x;
}
static __attribute__((noinline)) unsigned outer(unsigned x)
{
	for (int i = 0; i < 2000; i++)
		x += leaf(x);
	return x;
}
int main(void)
{
	printf("%u\n", outer(outer(1)));
	return 3;
}
EOF
RECORD_OPTIONS=(--ring=50k)
same_as_native ./within
"$TW" report --csv -n 0 recording.tw >within.csv || fail "report --csv"
python3 - <<'EOF' || fail "a function costs less with what it calls than by itself: $(cat within.csv)"
import csv, sys
rows = list(csv.DictReader(open('within.csv')))
sys.exit(not rows or any(int(r['inclusive_instructions']) < int(r['instructions']) for r in rows) or not any(r['function'] == 'outer' for r in rows))
EOF

# A forked process whose parent has ended, and is dropped, keeps the names of what the parent had mapped.
cc_program orphan <<'EOF'
#include <unistd.h>
static volatile unsigned table[1 << 16];
static __attribute__((noinline)) void go_on(unsigned x)
{
	for (int i = 0; i < 300000; i++)
		table[x >> 16] += x = x * 1664525 + table[x >> 16] + 1013904223;
}
int main(void)
{
	pid_t parent = getpid();
	if (fork())
		return 5;
	while (getppid() == parent)
		usleep(1000);
	go_on(1);
	return 0;
}
EOF
RECORD_OPTIONS=(--ring=1k)
recorded ./orphan
check_good
[ "$RECORDED_STATUS" = 5 ] || fail "orphan: status $RECORDED_STATUS"
[ "$(ls recording.tw/thread-* | wc -l)" = 1 ] || fail "the parent is not dropped"
"$TW" report recording.tw >report.out
grep -q go_on report.out || fail "what a forked process ran has no name: $(cat report.out)"
RECORD_OPTIONS=()

one_sentence "$TW" record --ring=1h true
says "wants a size"
one_sentence "$TW" record --ring=1M --sink=count true
says "--ring has no effect with '--sink=count'"
one_sentence "$TW" record --keep-when=main true
says "--ring is required for '--keep-when'"
one_sentence "$TW" record --ring=1M --keep-when=2s true
says "^trackway record: --keep-when wants a function or 0xADDRESS, not '2s'"
one_sentence "$TW" record --ring=1M --keep-when= true
says "^trackway record: --keep-when wants a function or 0xADDRESS, not ''"

# What was before a function.
RECORD_OPTIONS=(--ring=1G --keep-when=event)
same_as_native ./phases
check_good
"$TW" report recording.tw >report.out
grep -q early report.out || fail "what was before is not there"
grep -qw event report.out && fail "it recorded on"

# However long the program runs on: the time counts from when something was recorded last, and what was recorded last is not dropped for what comes with the program's end.
for ring in 300ms 1k; do
	rm -rf recording.tw recording.tw.old
	"$TW" record --ring=$ring --keep-when=event -o recording.tw -- ./phases stop >native.out 2>native.err &
	RECORDER=$!
	CLEANUP+=("kill -9 $RECORDER 2>/dev/null")
	await '^ready$' native.out
	sleep 1
	touch stop
	wait $RECORDER
	[ $? = 7 ] || fail "status $?"
	check_good
	"$TW" report recording.tw >report.out
	grep -qw late report.out || fail "what was before the function is gone after a second, with --ring=$ring: $(cat report.out)"
	rm stop
done

# While it runs.
RECORD_OPTIONS=()
rm -rf recording.tw recording.tw.old
"$TW" record --ring=1min -o recording.tw -- ./phases stop >native.out 2>native.err &
RECORDER=$!
CLEANUP+=("kill -9 $RECORDER 2>/dev/null")
await '^ready$' native.out
until "$TW" keep $RECORDER >keep.out 2>&1 && [ -n "$(ls recording.tw/thread-* 2>/dev/null)" ]; do sleep 0.05; done
grep -q 'the last 1min is stored' keep.out || fail "keep says: $(cat keep.out)"
cp -r recording.tw then.tw
"$TW" report then.tw 2>/dev/null | grep -q early || fail "what was kept cannot be read"
touch stop
wait $RECORDER
[ $? = 7 ] || fail "status $?"
check_good
one_sentence "$TW" keep $$
says "not being recorded"
