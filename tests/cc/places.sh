# --start and --stop at functions of instrumented programs, in two versions and in one: what ran between them is recorded, and nothing else.
# timeout: 120
. "$(dirname "$0")/../cc.sh"
need_command gcc g++
cat >l.cpp <<'X'
static volatile int n;
extern "C" __attribute__((noinline)) void inner(int k)
{
	n += k;
}
namespace outer {
__attribute__((noinline)) void middle(int times)
{
	for (int k = 0; k < times; k++)
		inner(k);
}
}
extern "C" __attribute__((noinline)) void late(void)
{
	n += 2;
}
extern "C" int result(void)
{
	return n;
}
X
cat >p.cpp <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
namespace outer {
void middle(int times);
}
extern "C" {
void late(void);
void inner(int k);
int result(void);
__attribute__((noinline)) void early(void)
{
	late();
}
__attribute__((noinline)) void after(int k)
{
	for (int i = 0; i <= k; i++)
		inner(i);
}
}
static void *more(void *p)
{
	outer::middle(5);
	late();
	after(1);
	return p;
}
int main(int argc, char **)
{
	early();
	for (int k = 0; k < 3; k++) {
		outer::middle(10);
		late();
		after(k);
	}
	if (argc > 1) { /* this thread goes by no function or loop while the other has its window */
		pthread_t t;
		pthread_create(&t, nullptr, more, nullptr);
		pthread_join(t, nullptr);
	}
	printf("%d\n", result());
	return 3;
}
X
# between WHAT OPTION...: WHAT is the functions that are recorded. $more: the program's argument
between() {
	rm -rf recording.tw
	run recorded.out recorded.err "$TW" record -q -o recording.tw "${@:2}" ./p $more
	RECORDED_STATUS=$?
	compare_runs "$way: ${*:2}"
	check_good
	"$TW" report --csv recording.tw | tail -n +2 | awk -F, '{ print $(NF - 5) }' | sort | tr '\n' ' ' >functions
	[ "$(cat functions)" = "$1" ] || fail "$way: ${*:2}: it recorded $(cat functions)and not $1"
}
blocks() { "$TW" info recording.tw | awk '$1 == "blocks" { print $2 }'; }
more=
for way in 'g++ -O2' 'g++ -O2 -fcf-protection' 'g++ -O0 -fPIC -shared'; do
	left_out "$way" 'g++ -O2' && continue
	if [[ $way = *shared* ]]; then
		CC_OPTIONS=--switchable instrumented l.so $way l.cpp
		CC_OPTIONS=--switchable instrumented p g++ -O0 p.cpp "$PWD/l.so" -pthread
	else
		CC_OPTIONS=--switchable instrumented p $way l.cpp p.cpp -pthread
	fi
	native ./p.plain
	between 'inner outer::middle(int) ' --start=outer::middle --stop=late
	once=$(blocks)
	between 'after inner main outer::middle(int) result ' --start=after --stop=late
	between 'main ' --stop=early
	between 'after inner late main outer::middle(int) result ' --start=late --stop=early
	more=more
	native ./p.plain more
	between 'inner outer::middle(int) ' --start=outer::middle --stop=late
	[ "$(blocks)" -gt "$once" ] || fail "$way: another thread has no windows"
	more=
done
one_sentence "$TW" record --start=0x1234567890 ./p
says 'can only be a function or a time'
one_sentence "$TW" record --start=1000i ./p
says "--start can only be a function or a time, not '1000i'"
one_sentence "$TW" record --stop=0x1234567890 ./p
says "--stop can only be a function, a count or a time, not '0x1234567890'"
"$TW" record -o recording.tw --start=nosuch ./p >out 2>err
grep -q 'nosuch was not found' err || fail "a function that is not there: $(cat err)"

# Functions in one version: what is recorded is what ran from where the one was entered to where the other was, reference by reference.
cat >cut.py <<'X'
import subprocess, sys
# cut.py TRACKWAY PROGRAM FULL WINDOW START STOP: names of functions; either may be ""
trackway, program, full, window, start, stop = sys.argv[1:]
def references(recording):
    return [line.split() for line in subprocess.run([trackway, "dump", recording], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()]
def relative(lines): # where the stack begins depends on the environment: its addresses are counted from the first of them
    top = next((int(w[3], 16) for w in lines if int(w[3], 16) >> 32 == 0x7fff), 0)
    return [w[:3] + [hex(int(w[3], 16) - (top if int(w[3], 16) >> 32 == 0x7fff else 0))] + w[4:] for w in lines]
symbols = {}
for line in subprocess.run(["nm", program], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines():
    w = line.split()
    if len(w) == 3:
        symbols[w[2]] = int(w[0], 16)
every = references(full)
pcs = sorted({int(w[1], 16) for w in every})
def first(name): # the push with which it begins, behind what is inserted
    return next((pc for pc in pcs if name and pc >= symbols[name]), None)
start, stop = first(start), first(stop)
wanted, on = [], start is None
for line in every:
    pc = int(line[1], 16)
    if pc == (stop if on else start):
        on = not on
    if on:
        wanted.append(line)
wanted, got = relative(wanted), relative(references(window))
if not wanted or got != wanted:
    sys.exit("%d references, %d are wanted; the first that differ: %s" % (len(got), len(wanted), next(((g, w) for g, w in zip(got, wanted) if g != w), "none")))
X
if fixed_addresses; then
	for way in "" --large "-fcf-protection"; do
		options= flags=
		case $way in --*) options=$way ;; *) flags=$way ;; esac
		# shellcheck disable=SC2086
		CC_OPTIONS=$options instrumented p g++ -O0 $flags -no-pie l.cpp p.cpp -pthread
		native ./p.plain
		rm -rf full.tw
		setarch -R "$TW" record -q -o full.tw ./p >/dev/null
		for sides in "_ZN5outer6middleEi late" "after late" "late early" "inner after" " inner" "early "; do
			start=${sides% *} stop=${sides#* } where=()
			[ -z "$start" ] || where+=("--start=${start/_ZN5outer6middleEi/outer::middle}")
			[ -z "$stop" ] || where+=("--stop=$stop")
			rm -rf recording.tw
			run recorded.out recorded.err setarch -R "$TW" record -q -o recording.tw "${where[@]}" ./p
			RECORDED_STATUS=$?
			compare_runs "one version $way: ${where[*]}"
			check_good
			python3 cut.py "$TW" p full.tw recording.tw "$start" "$stop" || fail "one version $way: ${where[*]}"
		done
	done
else
	untested "windows in one version, reference by reference: addresses cannot be fixed here"
fi
