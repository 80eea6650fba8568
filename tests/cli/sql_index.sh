# sql: a question with a time, an instruction or an address reads only the chunks that the index says may have it; what it answers is what reading all of them
# gives. The index is made when it is first of use, and is not believed when it is damaged or of another recording.
. "$(dirname "$0")/../lib.sh"

cat >workers.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <time.h>
enum { WORKERS = 12, BYTES = 1 << 16 };
static char memory[WORKERS][BYTES] __attribute__((aligned(65536)));
static volatile int shared;
__attribute__((aligned(65536))) static void odd(char *own) { for (int i = 0; i < BYTES; i += 8) own[i] = 1; }
__attribute__((aligned(65536))) static void even(char *own) { for (int i = 0; i < BYTES; i += 8) own[i] = 2; }
static void (*const work[])(char *) = {even, odd};
__attribute__((aligned(65536))) static void *run(void *number)
{
	long n = (long)number;
	struct timespec now;
	work[n % 2](memory[n]);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (n == 7)
		shared++;
	return number;
}
int main(void)
{
	for (long n = 0; n < WORKERS; n++) {
		pthread_t t;
		pthread_create(&t, NULL, run, (void *)n);
		pthread_join(t, NULL);
	}
	printf("%p %p %p\n", (void *)memory[5], (void *)&shared, (void *)odd);
	return 0;
}
END
gcc -O1 -fno-inline -no-pie -pthread -o workers workers.c || fail "workers.c"
"$TW" record -q -o w.tw ./workers >addresses || fail "record"
read -r fifth shared odd <addresses
fifth=$((fifth)) shared=$((shared)) odd=$((odd))

ask() { "$TW" sql --csv --explain w.tw "$1" 2>err | tail -n +2; }
chunks_read() { sed -n 's/^chunks: \([0-9]*\) read.*/\1/p' err; }

# same TABLE CONDITION [MOST]: the answer is what SQLite finds by itself (unary plus), and at most so many chunks are read.
same() {
	local plain answer
	plain=$(sed -E 's/\b(thread|insn|type|size|addr|pc|target|time)\b/+\1/g' <<<"$2")
	answer=$(ask "select count(*), sum(insn), min(pc), min(time) from $1 where $2")
	[ -z "$3" ] || [ "$(chunks_read)" -le "$3" ] || fail "$1 where $2: $(cat err)"
	[ "$answer" = "$(ask "select count(*), sum(insn), min(pc), min(time) from $1 where $plain")" ] || fail "$1 where $2: $answer"
	[ "$(chunks_read)" -ge 13 ] || fail "$1 where $plain: $(cat err)"
	[ "${answer%%,*}" -gt 0 ] || [ -n "$4" ] || fail "$1 where $2: no rows"
}

[ ! -e w.tw/index ] || fail "there is an index before it is of use"
same refs "addr = $fifth" 1
[ -s w.tw/index ] || fail "the index is not kept"
[ "$(stat -c %s w.tw/index)" -lt 6000 ] || fail "the index has $(stat -c %s w.tw/index) bytes"
same refs "addr = $fifth and type = 'W'" 1
same refs "addr = $fifth and type = 'R'" 0 none
same refs "addr between $fifth and $((fifth + 65535))" 1
same refs "addr = $shared and type in ('W', 'M')" 4
same refs "pc between $odd and $((odd + 8)) and type = 'W'" 9
same block_runs "pc = $odd" 9
same calls "target = $odd" 12
middle=$(ask "select min(time) from refs where addr = $fifth")
after=$(ask "select min(time) from refs where addr = $((fifth + 65536))")
same refs "time >= $middle and time < $after and addr between $fifth and $((fifth + 65535))" 1
same syscalls "time between $middle and $after" 4 none
same block_runs "time between $middle and $after" 4

# The answers come from the index: they are the same when it is made anew, as it is where it is damaged or of another recording.
cp w.tw/index good
right=$(ask "select count(*), sum(insn) from refs where addr = $fifth")
remade() {
	[ "$(ask "select count(*), sum(insn) from refs where addr = $fifth")" = "$right" ] || fail "$1: another answer"
	grep -q 'read for the index' err || fail "$1: it was believed: $(cat err)"
	cmp -s good w.tw/index || fail "$1: the index was not made anew"
}
printf '\377\377' | dd of=w.tw/index bs=1 seek=100 conv=notrunc status=none
remade "a damaged index"
head -c 60 good >w.tw/index
remade "half an index"
"$TW" record -q -o other.tw ./workers >/dev/null
"$TW" sql other.tw "select count(*) from refs where addr = $fifth" >/dev/null
cp other.tw/index w.tw/index
remade "another recording's index"

# analyze touch goes by the index, if there is one: it tells the same, and does not read the chunks that have nothing of it.
touched() { "$TW" analyze touch --json "0x$(printf %x "$fifth")" w.tw 2>err; }
touched >with || fail "analyze touch: $(cat err)"
mv w.tw/index good
touched >without || fail "analyze touch without an index: $(cat err)"
cmp -s with without && grep -q '"writes": 1,' with || fail "analyze touch tells something else by the index: $(diff with without)"
file=w.tw/thread-0003
cp $file whole
printf '\377\377\377\377' | dd of=$file bs=1 seek=$(($(stat -c %s $file) / 2)) conv=notrunc status=none
touched >/dev/null && fail "analyze touch without an index reads not all chunks"
cp good w.tw/index
touched >with || fail "analyze touch reads a chunk that the index rules out: $(cat err)"
cmp -s with without || fail "analyze touch beside a damaged chunk"
cp whole $file

# Without a place to keep it all goes on as well.
rm w.tw/index
mkdir w.tw/index.new
[ "$(ask "select count(*), sum(insn) from refs where addr = $fifth")" = "$right" ] && [ ! -e w.tw/index ] || fail "an index that cannot be kept"
rmdir w.tw/index.new

# A chunk that is damaged has no entry: it is named whatever is asked.
printf '\377\377\377\377' | dd of=$file bs=1 seek=$(($(stat -c %s $file) / 2)) conv=notrunc status=none
"$TW" sql w.tw "select count(*) from refs where addr = $fifth" >out 2>err && fail "a damaged chunk is not told"
grep -q 'thread-0003' err || fail "a damaged chunk: $(cat err)"
# How much is missing is told: the references of the thread's chunk.
there=$("$TW" sql --csv w.tw 'select sum(refs) from threads' 2>/dev/null | tail -n 1)
left=$("$TW" sql --csv w.tw 'select count(*) from refs' 2>err | tail -n 1)
[ "$left" -lt "$there" ] && grep -q "is damaged and left out, with [0-9]* instructions, [0-9]* blocks and $((there - left)) references: " err || fail "of $there references $left are there, and it says: $(cat err)"
