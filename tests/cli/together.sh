# Several outputs of `blocks` come from one replay, and are the same as one by one; how far a replay is shows on a terminal, and nowhere else.
. "$(dirname "$0")/../lib.sh"
need_command script
cc_program two -O1 -g -pthread <<'END'
#include <pthread.h>
static int sums[2];
static void *add(void *to)
{
	for (int i = 0; i < 20000; i++)
		*(int *)to += i % 7;
	return NULL;
}
int main(void)
{
	pthread_t other;
	pthread_create(&other, NULL, add, &sums[1]);
	add(&sums[0]);
	pthread_join(other, NULL);
	return sums[0] != sums[1];
}
END
recorded ./two
blocks() { "$TW" blocks "$@" recording.tw; }
blocks --callgrind=one.cg || fail "--callgrind"
blocks --lcov=one.lcov 2>/dev/null || fail "--lcov"
blocks --json >one.json || fail "--json"
blocks --callgrind=all.cg --lcov=all.lcov --json >all.json 2>all.err || fail "all at once: $(cat all.err)"
cmp -s one.cg all.cg && cmp -s one.lcov all.lcov && cmp -s one.json all.json || fail "all at once is not what there is one by one"

# On a terminal one line is renewed, and gone at the end. In a pipe there is none.
blocks --callgrind=one.cg 2>pipe.err || fail "blocks, in a pipe"
[ ! -s pipe.err ] || fail "progress is told in a pipe: $(cat pipe.err)"
for command in "blocks --callgrind=term.cg" report check paths; do
	script -qec "'$TW' $command recording.tw 2>&1 >/dev/null" /dev/null >terminal </dev/null || fail "$command on a terminal"
	grep -q "trackway ${command%% *}: replayed 1 of [0-9]* chunks" terminal || fail "$command: no progress on a terminal: $(od -c terminal | head -n 3)"
	tail -c 4 terminal | grep -q "$(printf '\033\\[K\r')" || fail "$command: its progress stays on the terminal"
done

# A damaged chunk is met by one replay, so it is told once.
file=$(ls recording.tw/thread-* | tail -n 1)
printf 'damage' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc status=none
blocks --callgrind=damaged.cg --lcov=damaged.lcov --json >damaged.json 2>damaged.err
[ $? = 1 ] || fail "blocks of a damaged recording"
[ "$(grep -c 'is damaged and left out' damaged.err)" = 1 ] || fail "not one replay: $(cat damaged.err)"
