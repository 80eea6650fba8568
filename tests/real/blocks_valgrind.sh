# blocks: the profile of `trackway record` is that of `valgrind --tool=lackey` for small static programs, and that of the recording's own trace for
# large ones. What differs with the C library in it is named below.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need_command valgrind python3

# same_profiles A B: all rows, but not the titles
same_profiles() {
	local kind
	for kind in SBB DBB; do
		cmp -s <(tail -n +2 "$1_${kind}_profile.txt") <(tail -n +2 "$2_${kind}_profile.txt") || {
			diff "$1_${kind}_profile.txt" "$2_${kind}_profile.txt" | head -n 10
			fail "$3: another $kind profile"
		}
	done
}

# lackey CMD...: its trace in ./trace
lackey() { valgrind --tool=lackey --trace-mem=yes --log-file=trace "$@" >/dev/null 2>&1; }

# Programs without a C library that do nothing with the addresses of their stacks do the same whoever runs them: the profiles are equal.
plain_program() {
	$CC -g -O1 -nostdlib -static -no-pie -fno-pie -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables \
		-Wl,--build-id=none -Wl,-z,noexecstack -I"$ROOT/tests/programs" -o program "$1" || fail "$1 does not compile"
	lackey ./program
	recorded ./program
	"$TW" blocks -a -o v trace 2>err && "$TW" blocks -a -o r recording.tw || fail "$1: blocks"
	[ ! -s err ] || fail "$1: $(cat err)"
	[ "$(grep -vc '^#' r_SBB_profile.txt)" -gt "$2" ] || fail "$1: hardly a profile"
	same_profiles v r "$1"
}
for source in flags.S recursion.c walk.c; do plain_program "$ROOT/tests/programs/$source" 10; done

cat >kinds.c <<'END'
/* Every way to end a block: falling into a target, jumps, conditions, calls, returns, tables of targets, pointers, repeated string instructions. */
typedef unsigned long word;
static unsigned seed = 1;
static unsigned next(void) { return (seed = seed * 1103515245 + 12345) >> 16; }
static word one(word n) { return n + 1; }
static word two(word n) { return n & 1 ? one(n) : n * 3; }
static word three(word n) { return n < 3 ? n : three(n - 1) + three(n - 2); }
static word (*const table[])(word) = {one, two, three};
static char from[300], to[300];
static word strings(word n)
{
	word left = n, found = n, same = n;
	char *a = from, *b = to, *c = to, *d = from, *e = to;
	__asm__ volatile("rep movsb" : "+S"(a), "+D"(b), "+c"(left)::"memory");
	to[n / 2] = 7; /* so that scas and cmps do not run out of count: see trackway-blocks(1) */
	__asm__ volatile("repne scasb" : "+D"(c), "+c"(found) : "a"(7) : "memory", "cc");
	__asm__ volatile("repe cmpsb" : "+S"(d), "+D"(e), "+c"(same)::"memory", "cc");
	left = n / 8;
	b = to;
	__asm__ volatile("rep stosq" : "+D"(b), "+c"(left) : "a"(0x0101) : "memory");
	return found + same;
}
static word kinds(word n)
{
	switch (n) {
	case 0: return 5;
	case 1: return one(n);
	case 2: return strings(next() % 200);
	case 3: return strings(0);
	case 4: n += 3; /* fall through */
	case 5: return n;
	case 6: return two(next());
	default: return table[n % 3](n % 12);
	}
}
void _start(void)
{
	word sum = 0;
	for (int i = 0; i < 2000; i++)
		sum += kinds(next() % 12);
	__asm__ volatile("syscall" ::"a"(60), "D"(sum & 1 ? 0 : 0));
}
END
plain_program kinds.c 20

# With a static C library, Valgrind shows another CPU and another stack to the program, so that start-up and the functions chosen by CPU
# features (IRELATIVE: memcpy, strlen...) differ; the program's own functions and what they call apart from those do not.
cc_program static -static -no-pie <<'END'
#include <stdio.h>
#include <stdlib.h>
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int depth(int n) { return n ? 1 + depth(n / 2) : 0; }
int main(void)
{
	static int v[300];
	unsigned seed = 1;
	for (int i = 0; i < 300; i++)
		v[i] = (int)((seed = seed * 1103515245 + 12345) >> 16);
	qsort(v, 300, sizeof v[0], order);
	for (int i = 0; i < 300; i += 50)
		printf("%d %d\n", v[i], depth(v[i]));
	return 0;
}
END
lackey ./static
recorded ./static
"$TW" blocks -a --json trace >v.json && "$TW" blocks -a --json recording.tw >r.json || fail "blocks --json"
nm -S --defined-only static | awk '$3 ~ /[tT]/ && $4 ~ /^(main|order|depth|qsort|__qsort_r|msort_with_tmp.*|rand|printf)$/ { print $1, $2 }' >functions
python3 - <<'END' || fail "the program's own functions have another profile"
import json
v, r = json.load(open("v.json")), json.load(open("r.json"))
spans = [(int(a, 16), int(a, 16) + int(n, 16)) for a, n in map(str.split, open("functions"))]
def inside(pc):
    return any(a <= pc < b for a, b in spans)
for kind in "static", "dynamic":
    def rows(p):
        blocks = p[kind]
        found = {}
        for b in blocks:
            if inside(b["first"]):
                edges = sorted((blocks[e["to"]]["first"], e["count"], e["fall_through"]) for e in b["edges"] if inside(blocks[e["to"]]["first"]))
                found[b["first"], b["last"]] = b["instructions"], b["executions"], b["ending"], edges
        return found
    a, b = rows(v), rows(r)
    assert len(a) > 30, len(a)
    assert a == b, (kind, [(hex(k[0]), a.get(k), b.get(k)) for k in sorted(set(a) | set(b)) if a.get(k) != b.get(k)][:5])
END

# Large programs, with repeated string instructions and signals: what the recording knows of the code gives the profile of its trace.
for command in "/usr/bin/gzip -9c /usr/share/common-licenses/GPL-3" "/usr/bin/perl -e \$SIG{ALRM}=sub{\$n++};alarm(1);select(undef,undef,undef,0.2);print(\"a\"x20000);kill(ALRM=>\$\$)" \
	"/usr/bin/python3 -S -c print(sum(range(5000)))"; do
	# shellcheck disable=SC2086
	recorded $command
	"$TW" dump --lackey recording.tw >trace || fail "dump --lackey"
	"$TW" blocks -a -o v trace && "$TW" blocks -a -o r recording.tw && "$TW" blocks -a -j 2 -o r2 recording.tw || fail "blocks"
	same_profiles v r "$command"
	same_profiles r2 r "$command, -j 2"
done
