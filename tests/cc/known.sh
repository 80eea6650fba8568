# record --learn of a program in two versions leaves out what is known from earlier runs: nothing is recorded where nothing is new, what is new is found wherever it stands, and in the end the same is known as of runs that are recorded as a whole.
# timeout: 300
. "$(dirname "$0")/../cc.sh"
need_command gcc g++ python3
cat >facts.py <<'X'
# facts.py LEARNED LEARNED: exits with 1 if they have not the same facts (src/learn/file.c), and shows in which they differ
import struct, sys
def facts(path):
    b = open(path, 'rb').read()
    version, runs, modules, texts, text_bytes, n, check = struct.unpack('<4I3Q', b[8:48])
    at, found = 48 + 8 * modules, set()
    for k in range(n):
        f = struct.unpack('<8I2Q', b[at + 48 * k:at + 48 * k + 48])
        found.add((f[0], f[1], f[2], f[7], hex(f[8]), hex(f[9])))
    return found
a, b = facts(sys.argv[1]), facts(sys.argv[2])
print(len(a), 'and', len(b), 'only one has', sorted(a ^ b))
sys.exit(a != b or not a)
X
cp "$ROOT/tests/programs/tables.h" .
cat >k.cpp <<'X'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static volatile long sum;
#include "tables.h"
__attribute__((noinline)) static void rare(int n)
{
	for (int i = 0; i < n; i++)
		sum += i ^ n;
}
__attribute__((noinline)) static int check(int n, int odd)
{
	if (n < 0)
		return -1;
	if (odd && n % 100 == 50)
		rare(n);
	if (odd ? n & 1 : n & 2)
		sum++;
	return n > 5 ? 2 : 3;
}
__attribute__((noinline)) static int caught(int n, int odd)
{
	try {
		return choose(n);
	} catch (int k) {
		return odd ? k : -k;
	}
}
static int way;
static void *work(void *)
{
	static const unsigned char plain[] = {1, 3, 2, 3, 3, 1, 2, 0}, other[] = {1, 4, 3, 3, 0};
	for (int i = 0; i < 1000; i++) {
		sum += run(plain);
		sum += check(i, way & 1);
		sum += caught(i % 5, 0);
		if (way & 2)
			sum += run(other);
		if (way & 4)
			sum += caught(6 + i % 2, i & 1);
	}
	return nullptr;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	way = argc > 1 ? atoi(argv[1]) : 0;
	work(nullptr);
	if (way & 8) {
		pthread_create(&thread, nullptr, work, nullptr);
		pthread_join(thread, nullptr);
	}
	puts(way == 7 ? "all" : "some");
	return way;
}
X
# learn FILE OPTION... -- WAY: one run, which is as natively; how much it says is new in `new`, and how many references were recorded in `references`
learn() {
	local file=$1 options=() out
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	out=$(timeout 60 "$TW" record --learn="$file" "${options[@]}" ./k "$2" 2>said)
	[ $? -eq "$2" ] && [ "$out" = "$([ "$2" = 7 ] && echo all || echo some)" ] || fail "--learn, way $2: $out, $(cat said)"
	new=$(grep -o '([0-9]* new)' said | tr -d '(new)' | awk '{ n += $1 } END { print n + 0 }')
	references=$(grep -o '[0-9]* references' said | awk '{ n = $1 } END { print n }')
}

# learn_all FILE OPTION... -- WAY: until two runs in a row tell nothing new. An indirect jump between blocks that are known is told only near something new, so whole runs come in between
learn_all() {
	local quiet=0 k
	for ((k = 0; k < 40 && quiet < 2; k++)); do
		learn "$@"
		quiet=$((new ? 0 : quiet + 1))
	done
	[ $quiet = 2 ] || fail "${*: -1}: in 40 runs there was always something new"
}
ways=('g++ -O2 -g' 'g++ -O0' 'g++ -O3 -fPIC -fcf-protection')
command -v clang++-14 >/dev/null && ways+=('clang++-14 -O2 -fPIC')
for way in "${ways[@]}"; do
	left_out "$way" 'g++ -O0' && continue
	"$TW" cc --switchable $way -std=c++17 k.cpp -o k -pthread 2>said || fail "$way: $(cat said)"
	rm -rf some.learn whole.learn whole.tw
	numbers='0 1 2 4 7 8'
	[ "$way" = "${ways[0]}" ] || numbers=$(full "$numbers" '0 4 7')
	for number in $numbers; do
		learn_all some.learn -- $number
		[ "$references" = 0 ] || fail "$way: $number: nothing is new, and $references references are recorded"
		learn whole.learn -o whole.tw -- $number
		"$TW" check -q whole.tw || fail "$way: $number: check"
		rm -rf whole.tw
	done
	python3 facts.py some.learn whole.learn >differs || fail "$way: $(cat differs)"
done

# A new path is found when it first runs, in the run in which all else is known, once as well as a thousand times: each block and branch behind it.
"$TW" cc --switchable g++ -O2 k.cpp -o k -pthread || fail "k.cpp"
rm -f one.learn
learn_all one.learn -- 0
learn one.learn -- 4
[ "$new" -ge 10 ] || fail "a new path: $new new"

# Within a budget, too.
rm -f one.learn
learn_all one.learn -- 0
learn one.learn --budget=5% --period=20ms -- 1
[ "$new" -ge 5 ] || fail "a new path within a budget: $new new"

# What another build has learned says nothing of this one.
sed -i 's/x += 3/x += 4/' tables.h
sed 's/^static int way;/static int way; int unused(int n) { return n * 3; }/' k.cpp >other.cpp
"$TW" cc --switchable g++ -O2 -Wl,--build-id other.cpp -o k -pthread || fail "other.cpp"
learn one.learn -- 0
[ "$references" -gt 1000 ] || fail "another build: $references references"

# References are learned by recording: nothing is left out.
learn refs.learn --learn-what=refs -o refs.tw -- 0
rm -rf refs.tw
learn refs.learn --learn-what=refs -o refs.tw -- 0
[ "$references" -gt 1000 ] || fail "--learn-what=refs: $references references"

# A library whose code is known; the program is not instrumented, and closes and opens it.
cat >l.c <<'X'
int step(int n)
{
	for (int k = 0; k < 100; k++)
		n = n & 1 ? 3 * n + 1 : n / 2;
	return n;
}
X
cat >p.c <<'X'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	int sum = argc;
	for (int k = 0; k < 5; k++) {
		void *l = dlopen("./l.so", RTLD_NOW);
		int (*step)(int) = l ? (int (*)(int))dlsym(l, "step") : 0;
		if (!step)
			return 1;
		for (int n = 0; n < 50; n++)
			sum += step(n + k);
		dlclose(l);
	}
	printf("%d\n", sum);
	return 0;
}
X
"$TW" cc --switchable gcc -O2 -fPIC -shared l.c -o l.so && "$TW" cc --switchable gcc -O2 p.c -o p -ldl || fail "l.so"
wanted=$(TRACKWAY=off ./p)
for k in 1 2 3; do
	[ "$(timeout 60 "$TW" record --learn=p.learn ./p 2>said)" = "$wanted" ] || fail "a library, run $k: $(cat said)"
done
grep -q ' 0 references' said || fail "a library that is known: $(cat said)"
