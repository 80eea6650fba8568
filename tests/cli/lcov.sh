# blocks --lcov: line counts are those of gcov, from a program that was not compiled for it; genhtml takes the file.
. "$(dirname "$0")/../lib.sh"
need_command genhtml gcov python3
cat >cov.c <<'END'
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
	int value;
	struct list *next;
};

static int collatz(unsigned long n)
{
	int steps = 0;
	while (n != 1) {
		if (n & 1)
			n = 3 * n + 1;
		else
			n /= 2;
		steps++;
	}
	return steps;
}

static const char *kind(int n)
{
	switch (n % 6) {
	case 0:
		return "zero";
	case 1:
	case 2:
		return "small";
	case 3: {
		int k = n > 10 ? n : -n;
		return k > 0 ? "three" : "minus";
	}
	case 4:
		break;
	default:
		return "five";
	}
	return "four";
}

static struct list *insert(struct list *l, int value)
{
	struct list **p = &l;
	while (*p && (*p)->value < value)
		p = &(*p)->next;
	struct list *n = malloc(sizeof *n);
	if (!n) {
		fprintf(stderr, "no memory\n");
		exit(1);
	}
	n->value = value;
	n->next = *p;
	*p = n;
	return l;
}

static int never_called(int a)
{
	if (a > 3)
		return a;
	return -a;
}

static int words(const char *s) {
	int n = 0, in = 0;
	for (; *s; s++) {
		if (isspace((unsigned char)*s)) {
			in = 0;
			continue;
		}
		if (!in && (isalpha((unsigned char)*s) ||
			    *s == '_'))
			n++;
		in = 1;
	}
	return n;
}

static void triangle(int n, int out[])
{
	for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) out[i] += j;
	int i = 0;
	do {
		out[i] ^= 1;
	} while (++i < n);
}

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static void copy(char *to, const char *from, unsigned long n)
{
	for (int i = 0; i < 5; i++)
		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

int main(int argc, char **argv)
{
	char text[40];
	int total = 0;
	int sums[20] = {0};
	struct list *l = NULL;
	copy(text, "repeated", 9);
	for (int i = 1; i < 30; i++)
		total += collatz(i);
	for (int i = 0; i < 25; i++) {
		total += strlen(kind(i));
		l = insert(l, (i * 7) % 25);
	}
	total += words("the quick  brown fox_1 9 lazy") + text[0];
	triangle(20, sums);
	for (int i = 0; i < 20; i++)
		total += sums[i];
	if (argc > 1 && strcmp(argv[1], "-v") == 0)
		total += never_called(argc);
	goto out;
	total = 0;
out:
	total += fib(10);
	while (l) {
		struct list *next = l->next;
		free(l);
		l = next;
	}
	printf("%d\n", total);
	return 0;
}
END
$CC -g -O0 -o plain cov.c || fail "cov.c"
$CC -g -O0 --coverage -o counted cov.c || fail "cov.c --coverage"
./counted >/dev/null || fail "counted"
gcov counted-cov.gcda >/dev/null 2>&1 || gcov cov.gcda >/dev/null 2>&1
[ -s cov.c.gcov ] || skip "gcov does not read what $CC --coverage leaves"
same_as_native ./plain
"$TW" blocks --lcov=plain.info --module=plain recording.tw || fail "blocks --lcov"
# Lines without code of their own (labels) are gcov's only, closing braces of functions ours; all others are in both, with the same count.
python3 - <<'END' || fail "line counts are not gcov's"
import re
source = [""] + open("cov.c").read().split("\n")
theirs, ours = {}, {}
for line in open("cov.c.gcov"):
    m = re.match(r" *([0-9#=-]+)\*?: *([0-9]+):", line)
    if m and m[1] != "-" and m[2] != "0":
        theirs[int(m[2])] = 0 if m[1][0] in "#=" else int(m[1])
for line in open("plain.info"):
    if line.startswith("DA:"):
        n, count = line[3:].split(",")
        ours[int(n)] = int(count)
wrong = {n for n in theirs.keys() & ours.keys() if theirs[n] != ours[n]}
wrong |= {n for n in theirs.keys() - ours.keys() if not re.match(r"\s*(case .*|default|out):", source[n])}
wrong |= {n for n in ours.keys() - theirs.keys() if source[n] != "}"}
assert not wrong, [(source[n], theirs.get(n), ours.get(n)) for n in sorted(wrong)]
assert len(theirs.keys() & ours.keys()) > 60, len(theirs)
END
# functions, and both ways of some branches, told apart by the line they are on
line_of() { grep -n -m1 -F "$1" cov.c | cut -d : -f 1; }
grep -qx "FN:$(line_of 'static int collatz'),collatz" plain.info && grep -qx 'FNDA:29,collatz' plain.info || fail "collatz"
grep -qx 'FNDA:177,fib' plain.info || fail "fib: $(grep FNDA plain.info)"
grep -qx 'FNDA:0,never_called' plain.info || fail "never_called"
n=$(line_of 'if (n & 1)')
[ "$(grep -c "^BRDA:$n," plain.info)" = 2 ] || fail "branches of line $n"
ways=$(sed -n "s/^BRDA:$n,0,[01],//p" plain.info | sort -n | tr '\n' ' ')
loop=$(sed -n "s/^DA:$((n + 1)),//p; s/^DA:$((n + 3)),//p" plain.info | sort -n | tr '\n' ' ')
[ "$ways" = "$loop" ] || fail "line $n branches $ways, the lines it leads to ran $loop"
n=$(line_of 'if (a > 3)')
[ "$(sed -n "s/^BRDA:$n,0,[01],//p" plain.info | tr -d '\n')" = -- ] || fail "a branch that was never reached"
genhtml --quiet --branch-coverage -o html plain.info >genhtml.out 2>&1 || fail "genhtml: $(head -n 3 genhtml.out)"
[ ! -s genhtml.out ] || fail "genhtml complains: $(head -n 3 genhtml.out)"
find html -name 'cov.c.gcov.html' | grep -q . || fail "genhtml made no page for cov.c"
# Signals that come at any place change no line's count.
cat >alarm.c <<'END'
#include <signal.h>
#include <sys/time.h>
volatile int hits, sink;
static void handler(int s)
{
	hits += s == SIGALRM;
}
static int work(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		if (i % 3 == 0)
			sum += i;
		else
			sum ^= sink;
	}
	return sum;
}
int main(void)
{
	struct itimerval t = {{0, 40}, {0, 40}};
	int sum = 0;
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &t, 0);
	for (int i = 0; i < 20000 || hits < 30; i++)
		sum += work(3);
	return sum == 7;
}
END
$CC -g -O0 -o alarm alarm.c || fail "alarm.c"
recorded ./alarm
[ "$RECORDED_STATUS" = 0 ] || fail "alarm"
"$TW" blocks --lcov=alarm.info --module=alarm recording.tw || fail "blocks --lcov of a program with signals"
python3 - <<'END' || fail "line counts of a program with signals"
da = dict(tuple(map(int, line[3:].split(","))) for line in open("alarm.info") if line.startswith("DA:"))
hits, calls = da[6], da[10]
assert hits >= 30 and da[4] == hits and calls >= 20000, (hits, calls)
expected = {11: calls * 4, 12: calls * 3, 13: calls, 15: calls * 2, 17: calls, 25: calls + 1, 26: calls}
assert {n: da[n] for n in expected} == expected, (expected, da)
END
mv alarm.c away.c
one_sentence "$TW" blocks --lcov=x.info --module=alarm recording.tw
says 'no source file can be read (.*alarm.c, for one)'
# a program without debug information
$CC -O0 -o stripped cov.c && strip stripped
recorded ./stripped
one_sentence "$TW" blocks --lcov=x.info --module=stripped recording.tw
says 'compile with -g'
# C++: functions that no other file can call have the names that gcov gives them, too
if command -v g++ >/dev/null; then
	cat >own.cc <<'END'
static __attribute__((noinline)) int classify(int x) { return x > 3 ? x : -x; }
namespace {
struct kept {
	int v;
	__attribute__((noinline)) int get(int a) { return v + a; }
};
}
int main(int argc, char **) { return kept{argc}.get(3) + classify(argc) - 3; }
END
	g++ -g -O0 -o own own.cc || fail "own.cc"
	recorded ./own
	"$TW" blocks --lcov=own.info --module=own recording.tw || fail "blocks --lcov of C++"
	[ "$(sed -n 's/^FNDA://p' own.info | sort)" = "$(printf '1,%s\n' _ZL8classifyi _ZN12_GLOBAL__N_14kept3getEi main)" ] || fail "C++: $(grep FNDA own.info)"
	# It is not -g that a program lacks which is gone.
	rm own
	one_sentence "$TW" blocks --lcov=own.info --module=own recording.tw
	says '/own: no source lines, which coverage needs: the file is missing$'
	one_sentence "$TW" blocks --fdata=own.fdata recording.tw
	says '/own: no symbol table, which BOLT needs: the file is missing$'
	one_sentence "$TW" blocks --autofdo=own.afdo recording.tw
	says '/own: no debug information, which a sample profile needs: the file is missing$'
else
	untested "lcov's names of C++: there is no g++"
fi
