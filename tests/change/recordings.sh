# Recordings that are wrong inside, while all their sizes and checksums are right (tests/change/change.c): whatever somebody sends, it is safe to open. All
# commands that read recordings end in bounded time and memory, with an exit status of their own, whatever they say. COUNT: recordings; SEED: the first
# one's; SHARE: of the commands, one in so many reads each; KEEP: a directory for recordings that something went wrong with. A thousand, with sanitizers:
#     make ASAN=1 TW_FULL=1 check TEST=change/
# timeout: 240
. "$(dirname "$0")/../lib.sh"
COUNT=${COUNT:-$(full 1000 9)}
SHARE=${SHARE:-$(full 1 8)}
SEED=${SEED:-1}
KEEP=${KEEP:-}
CHANGE=$BUILD/tests/change
[ -x "$CHANGE" ] || make -s -C "$ROOT" BUILD="$BUILD" "$CHANGE" || fail "the generator cannot be built"

avx2=$(grep -m1 "^flags" /proc/cpuinfo | grep -qw avx2 && echo -mavx2)
# shellcheck disable=SC2086 # nothing, or a flag
cc_program program -D_GNU_SOURCE -static -pthread $avx2 <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static atomic_int turns;
static char from[300], to[300];
static void on_signal(int signo) { turns += signo; }
__attribute__((noinline)) static void copy(size_t n)
{
	char *d = to, *s = from;
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
	n = sizeof from;
	d = to, s = from;
	__asm__ volatile("repe cmpsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory", "cc");
}
__attribute__((noinline)) static void bits(long n)
{
	__asm__ volatile("bts %0, (%1)" : : "r"(n), "r"(from) : "memory", "cc");
}
static void *thread(void *arg)
{
	for (int i = 0; i < 20; i++) {
		turns++;
		copy((size_t)i);
		bits(i * 7);
	}
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	int status;
	if (argc > 1)
		return puts(argv[1]) < 0;
	signal(SIGUSR1, on_signal);
	pthread_create(&t, NULL, thread, NULL);
	raise(SIGUSR1);
	thread(NULL);
	pthread_join(t, NULL);
#ifdef __AVX2__
	int table[64] = {0};
	__asm__ volatile("vpcmpeqd %%ymm1, %%ymm1, %%ymm1; vpxor %%ymm2, %%ymm2, %%ymm2; vpgatherdd %%ymm1, (%0, %%ymm2, 4), %%ymm0; vpmaskmovd %%ymm0, %%ymm0, (%0)"
	                 : : "r"(table) : "memory", "xmm0", "xmm1", "xmm2");
#endif
	fflush(stdout);
	if (!fork())
		execl(argv[0], argv[0], "again", (char *)NULL);
	wait(&status);
	return status;
}
END

# What is changed: recordings of every format, and of what else makes their contents another.
kinds=("-f dep" "-f dep --order" "-f dep --hot=1" "-f dep --start=copy --stop=bits" "-f dep --follow=none" "-f call" "-f dep-c" "-f bb_pc" "-f mem_addr" "-f bb_pc+mem_addr"
	"-f dep06" "-f dep06 --hot=1" "-f dep06-c" "-f cf_bit" "-f none" "--sink=count")
for k in "${!kinds[@]}"; do
	# shellcheck disable=SC2086 # options
	"$TW" record -q -o "whole-$k.tw" ${kinds[$k]} -- ./program >/dev/null || fail "record ${kinds[$k]}"
	check_good "whole-$k.tw"
done
valgrind_lines='I  04000000,3\n S 7fe000f8,8\nI  04000003,2\nI  04000010,4\n M 00010000,4\nI  04000003,2\n'
printf "$valgrind_lines" | "$TW" import lackey -q -o "whole-${#kinds[@]}.tw" - >/dev/null 2>&1 || fail "import"
kinds+=(import)

# Each command that reads recordings, with outputs of all kinds.
commands=("info R" "info --json R" "check R" "check -j 3 R" "report R" "report --json -j 2 R" "dump --refs R" "dump --blocks R" "dump --lackey R" "dump --code R" "dump --raw R"
	"dump --order R" "dump --from 5 --count 100 R" "blocks -n 0 -a R" "blocks --json R" "blocks --csv R" "blocks --dot R" "blocks --superblocks -j 2 R" "blocks -o profile R"
	"blocks --callgrind=out.callgrind R" "blocks --lcov=out.lcov R" "blocks --simpoint=out.bb --interval 1000 R" "blocks --fdata=out.fdata R" "blocks --autofdo=out.prof R" "report --last 30 R" "paths R")
for analyzer in $("$TW" analyze --list | awk '{ print $1 }'); do
	commands+=("analyze $analyzer R" "analyze $analyzer --json -j 2 R")
done

# Bounds: 3 GB, and seconds where a whole recording takes hundredths. With sanitizers addresses cannot be limited.
export ASAN_OPTIONS=exitcode=99:hard_rss_limit_mb=3000:allocator_may_return_null=1:detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:exitcode=99
bounded() { # bounded COMMAND...
	asan || ulimit -v 3000000
	exec timeout -k 5 $((20 * ${TW_SLOW:-1})) "$TW" "$@"
}

wrong=0
attempt() { # attempt SEED KIND COMMAND...: of the recording changed.tw
	local which=$1 kind=$2 status
	shift 2
	(bounded "$@") >out 2>err </dev/null
	status=$?
	[ $status -lt 99 ] && ! { [ $status -ne 0 ] && [ ! -s err ] && [ ! -s out ]; } && return
	echo "trackway $*: status $status; seed $which, ${kinds[$kind]}"
	grep -aE -m 4 'ERROR|runtime error|^    #[0-9] ' err
	[ -n "$KEEP" ] && cp -r changed.tw "$KEEP/$which.tw"
	wrong=$((wrong + 1))
}

for ((seed = SEED; seed < SEED + COUNT; seed++)); do
	kind=$((seed % ${#kinds[@]}))
	rm -rf changed.tw out.* profile_*
	"$CHANGE" $seed "whole-$kind.tw" changed.tw || fail "change $seed ${kinds[$kind]}"
	for ((i = seed % SHARE; i < ${#commands[@]}; i += SHARE)); do
		# shellcheck disable=SC2086 # words
		attempt $seed $kind ${commands[i]/%R/changed.tw}
	done
done
[ $wrong = 0 ] || fail "$wrong of $((COUNT * ${#commands[@]} / SHARE)) commands did not end as they should"
echo "$COUNT recordings"
