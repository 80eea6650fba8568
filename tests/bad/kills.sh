# Program, collector or both are killed with SIGKILL at random moments. The recording opens, check says how far it goes, and just so much replays;
# what was not killed goes on to its normal end. Every other three only count (--sink=count): what the program counted until it was killed is there. TW_KILLS=200 does it 200 times; TW_SEED=N as in a run that failed.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
kills=${TW_KILLS:-9}
RANDOM=${TW_SEED:=$RANDOM}
cc_program family -D_GNU_SOURCE -pthread <<'END'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *seed)
{
	uint64_t x = (uintptr_t)seed, sum = 0, *table[16] = {NULL};
	for (int i = 0; i < 60000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		unsigned k = x >> 60;
		if (!table[k] && !(table[k] = malloc(512)))
			abort();
		table[k][x >> 54 & 63] = x;
		sum += table[k][0] == x;
		if (i % 1000 == 0) {
			free(table[k]);
			table[k] = NULL;
		}
	}
	return (void *)(uintptr_t)(sum + x % 1000);
}
int main(int argc, char **argv)
{
	uint64_t sum = 0;
	void *r;
	char name[100];
	for (int round = 0; round < 8; round++) {
		pthread_t t[2];
		pid_t p = fork();
		if (!p) {
			snprintf(name, sizeof name, "%d", (int)((uintptr_t)work((void *)(uintptr_t)round) % 100));
			execlp("expr", "expr", name, "+", "1", (char *)NULL);
			_exit(1);
		}
		for (uintptr_t i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, work, (void *)(i + 10));
		for (int i = 0; i < 2; i++) {
			pthread_join(t[i], &r);
			sum += (uintptr_t)r;
		}
		int s;
		if (waitpid(p, &s, 0) != p || s)
			return 1;
	}
	snprintf(name, sizeof name, "%s.new", argv[argc - 1]);
	FILE *f = fopen(name, "w");
	fprintf(f, "%llu\n", (unsigned long long)sum);
	fclose(f);
	return rename(name, argv[argc - 1]) != 0;
}
END
./family result.native >native.out || fail "natively"

# gone PATTERN: no process with this in its command line is left, or not for long
gone() {
	local n
	for n in $(seq 300); do
		pgrep -f "$1" >/dev/null || return 0
		sleep 0.1
	done
	pgrep -af "$1"
	pkill -KILL -f "$1"
	return 1
}

# whole_until: what there is of k.tw replays, and is what check says
whole_until() {
	run check.out check.err "$TW" check k.tw
	local status=$? said found
	# the recorder was killed before it stored anything: check has nothing to call good, and says so
	[ $status = 1 ] && grep -q 'nothing is in it; 0 blocks' check.out && status=0
	[ $status = 0 ] || fail "$what: check: $(cat check.out check.err)"
	said=$(sed -n 's/.* blocks and \([0-9]*\) references replayed.*/\1/p' check.out)
	[ -n "$said" ] || fail "$what: check does not say how far it goes: $(cat check.out)"
	"$TW" dump --refs -o refs k.tw 2>dump.err
	[ $? -le 1 ] || fail "$what: dump dies"
	found=$(wc -l <refs)
	[ "$found" = "$said" ] || fail "$what: check says $said references, dump gives $found"
	"$TW" info k.tw >info.out || fail "$what: info"
	references=$((references + found))
}

# totals_of: k.tw holds totals. Where the collector was there to the end, they are those of what ran.
totals_of() {
	"$TW" check k.tw >check.out 2>&1 || fail "$what: check: $(cat check.out)"
	grep -q 'only totals' check.out || fail "$what: check does not say that there are only totals: $(cat check.out)"
	"$TW" info --json k.tw >info.out || fail "$what: info"
	grep -q '"state": "complete"' info.out || [ $whom != 0 ] || fail "$what: the program was killed, and the recording is incomplete: $(cat err)"
	counted=$((counted + $(sed -n 's/^ *"instructions": \([0-9]*\),/\1/p' info.out | head -n 1)))
}

# How long the program takes when recorded, in ms: that is when kills can hit, so the moments are drawn from it.
begin=$(date +%s%N)
"$TW" record -q -o k.tw -- ./family result.native >out 2>err </dev/null || fail "not killed: $(cat err)"
length=$((($(date +%s%N) - begin) / 1000000 + 1))

references=0 killed=0 counted=0
for ((i = 0; killed < kills && i < 4 * kills; i++)); do
	whom=$((i % 3)) sink=$((i / 3 % 2)) delay=$((RANDOM % length))
	what="kill $i (0 program, 1 collector, 2 both: $whom)$([ $sink = 1 ] && echo ', counting,') after $delay of $length ms, TW_SEED=$TW_SEED"
	rm -rf k.tw k.tw.old result
	options=()
	[ $sink = 1 ] && options=(--sink=count)
	"$TW" record -q -o k.tw "${options[@]}" -- ./family result.$$ >out 2>err </dev/null &
	collector=$!
	sleep "$(printf '%d.%03d' $((delay / 1000)) $((delay % 1000)))"
	child=$(pgrep -P $collector)
	[ $whom != 1 ] && [ -n "$child" ] && kill -KILL "$child" 2>/dev/null
	[ $whom != 0 ] && kill -KILL $collector 2>/dev/null
	wait $collector 2>/dev/null
	if [ $? = 137 ]; then
		killed=$((killed + 1))
	else # all had ended before: it takes less time than it did, the machine does less beside it
		length=$((length * 3 / 4 + 1))
	fi
	gone "family result.$$" || fail "$what: processes are left"
	if [ $whom = 1 ] && [ -n "$child" ]; then # once it was there it goes on
		cmp -s result.$$ result.native || fail "$what: the program did not end as it should: $(cat err)"
		cmp -s out native.out || fail "$what: the program's output changed: $(cat out)"
	fi
	rm -f result.$$ result.$$.new
	[ -e k.tw/header ] || continue # killed before there was anything
	if [ $sink = 1 ]; then totals_of; else whole_until; fi
done
echo "$killed kills; what is left holds $references references, and $counted instructions were counted"
[ $killed = "$kills" ] || fail "only $killed kills hit anything"
[ $references -gt 0 ] || fail "nothing was recorded at all"
[ $counted -gt 0 ] || fail "nothing was counted at all"
