# --switchable: each function in two versions. What is recorded is what one version records; windows, bursts; tables, exceptions and cold parts of the second version.
# timeout: 300
. "$(dirname "$0")/../cc.sh"
need_command gcc g++
cp "$ROOT/tests/programs/tables.h" .
cat >a.cpp <<'X'
#include <stdexcept>
#include <stdio.h>
static int sum;
#include "tables.h"
struct held {
	int n;
	explicit held(int k) : n(k) {}
	~held() { sum += n; }
};
__attribute__((noinline)) static void deep(int n)
{
	const held s(n);
	if (!n)
		throw std::runtime_error("deep");
	deep(n - 1);
	sum += 100;
}
struct shape {
	virtual ~shape() {}
	virtual double area() const = 0;
};
struct square : shape {
	double side;
	explicit square(double n) : side(n) {}
	double area() const override { return side * side; }
};
int main(int argc, char **)
{
	static const unsigned char code[] = {1, 3, 2, 3, 3, 1, 2, 0};
	static int v[1000];
	double areas = 0;
	int names = 0;
	for (int i = 0; i < 300; i++) {
		sum += run(code);
		try {
			sum += choose(i % 9);
			if (i % 10 == 0)
				deep(i / 10 % 7);
		} catch (const std::exception &e) {
			names += e.what()[0] == 'd';
		} catch (int n) {
			sum += n;
		}
		const shape *s = new square(i);
		areas += s->area();
		delete s;
	}
	for (int i = 0; i < 1000 * argc; i++)
		v[i] = (int)(i * i) ^ (i ? v[i - 1] : 0);
	printf("%d %d %d %.1f\n", sum, names, v[999], areas);
	return 3;
}
X
totals() { "$TW" info "$1" | awk '/^(instructions|blocks|references|  reads|  writes)/ { print $1, $2 }'; }
ways=('g++ -O0 -g' 'g++ -O3 -g -fPIC' 'g++ -O2 -static -no-pie')
command -v clang++-14 >/dev/null && ways+=('clang++-14 -O2 -g -fPIC' 'clang++-14 -O0')
for way in "${ways[@]}"; do
	left_out "$way" 'clang++-14 -O0' && continue
	instrumented a $way -std=c++17 a.cpp
	recorded ./a
	totals recording.tw >one
	CC_OPTIONS=--switchable instrument a $way -std=c++17 a.cpp
	runs_as_plain a
	totals recording.tw >two
	cmp one two || {
		diff one two
		fail "$way: two versions record something else than one"
	}
	"$TW" report --csv recording.tw >functions.csv && grep -q 'run(unsigned char const\*)' functions.csv || fail "$way: names of functions"
	nm a | grep -q Ltw && fail "$way: labels are left over"
done

# Windows: what is called where the program finds itself within one, and where it does not.
cat >w.c <<'X'
#include <stdio.h>
#include <unistd.h>
extern volatile char trackway_cc_switch[] __attribute__((weak, visibility("hidden")));
static volatile int count;
static int is_on(void)
{
	return trackway_cc_switch && trackway_cc_switch[0];
}
__attribute__((noinline)) static void early(void)
{
	count++;
}
__attribute__((noinline)) static void late(void)
{
	count += 2;
}
__attribute__((noinline)) static void waiting(int wanted)
{
	while (is_on() != wanted)
		usleep(1000);
	for (int i = 0; i < 10; i++) {
		usleep(1);
		count++;
	}
}
int main(int argc, char **argv)
{
	const int before = is_on();
	early();
	printf("early %s\n", is_on() != before ? "changed" : before ? "on" : "off");
	for (int i = argc > 2 ? 4 : 1; i > 0; i--)
		waiting(argc > 1 && (argv[1][0] == '1') == (i & 1));
	late();
	return 0;
}
X
"$TW" cc --switchable gcc -O2 w.c -o w || fail "w.c: --switchable"
in_report() { "$TW" report --csv recording.tw 2>/dev/null | grep -q "\b$1\b"; }
rm -rf recording.tw
"$TW" record -q -o recording.tw --start=300ms ./w 1 >out || fail "--start: status $?"
in_report late || fail "--start: what runs after it is not recorded"
in_report waiting || fail "--start: a loop that runs when it comes is not gone over"
! grep -qx 'early off' out || ! in_report early || fail "--start: what runs before it is recorded"
rm -rf recording.tw
"$TW" record -q -o recording.tw --stop=300ms ./w 0 >out || fail "--stop: status $?"
! in_report late || fail "--stop: what runs after it is recorded"
! grep -qx 'early on' out || in_report early || fail "--stop: what runs before it is not recorded"
rm -rf recording.tw
timeout 60 "$TW" record -q -o recording.tw --burst=20ms --every=50ms ./w 1 more >out || fail "--burst: status $?"
check_good
"$TW" info recording.tw | grep -q '^bursts  *20 ms every 50 ms$' || fail "info: bursts"

# With a routine of its own it always records; without a recorder it never does.
cat >routine.c <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <trackway/analyzer.h>
static void *begin(void *arg)
{
	(void)arg;
	return calloc(1, sizeof(unsigned long));
}
static int batch(void *state, const struct tw_batch *b)
{
	*(unsigned long *)state += b->n_insns;
	return 0;
}
static int merge(void *state, void *later)
{
	*(unsigned long *)state += *(unsigned long *)later;
	free(later);
	return 0;
}
static int end(void *state, int error)
{
	fprintf(stderr, "%s\n", !error && *(unsigned long *)state > 50 ? "some" : "none");
	free(state);
	return 0;
}
static const struct tw_analyzer counter = {.name = "counter", .begin = begin, .batch = batch, .merge = merge, .end = end};
TW_PLUGIN(counter);
X
"$TW" cc --switchable --batch=routine.c gcc -O2 w.c -o b || fail "w.c: --batch"
./b 1 2>err >out && [ "$(cat err)" = some ] && grep -qx 'early on' out || fail "--batch: $(cat out err)"
./w 0 >out && grep -qx 'early off' out || fail "without a recorder: $(cat out)"

# What cannot be done is said.
"$TW" cc gcc -O2 w.c -o one || fail "w.c"
one_sentence "$TW" record --burst=1ms --every=1s ./one
says "trackway cc --switchable is required for '--burst'"
one_sentence "$TW" record --burst=1ms --every=1s "$(command -v true)"
says 'compiled with trackway cc --switchable'
one_sentence "$TW" record --burst=1s --every=1ms ./w
says 'not shorter than'
one_sentence "$TW" record --burst=1s ./w
says 'go together'
one_sentence "$TW" record --start=1000i ./one
says "--start can only be a function or a time, not '1000i'"
"$TW" cc --full=guard gcc -O2 w.c -o guarded || fail "w.c: --full=guard"
one_sentence "$TW" record --start=main ./guarded
says "it does not support '--start'"
one_sentence "$TW" record --stop=main ./guarded
says "--stop can only be a count, not 'main'"
