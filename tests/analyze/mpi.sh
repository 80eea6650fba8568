# trackway-mpi: 2, 3 and 4 ranks give the very text of a plain run, for each analyzer that works in parts; a rank that is killed ends the job, and --state goes on with it, with
# another number of ranks too; analyzers that cannot work in parts say so; several recordings, and recordings of each rank's own.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
need_command python3 mpirun
MPI=${TW%/*}/trackway-mpi
[ -x "$MPI" ] || skip "trackway-mpi is not built: make setup-mpi"
asan && skip "OpenMPI does not go with the sanitizer"
# One machine, shared memory only, and ranks that wait leave the processor to others.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_orte_tmpdir_base=/tmp

# ranks N WORD...: trackway-mpi analyze WORD... with N ranks; the launcher's own words left out
ranks() { mpirun -q --oversubscribe --bind-to none -n "$1" "$MPI" analyze "${@:2}"; }
ranks 2 --help >/dev/null 2>err || skip "mpirun does not run here: $(head -n 3 err)"

cc_program chase -O1 -pthread <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { N = 1 << 16 };
static unsigned next[N];
static long shared;
static void *chase(void *arg)
{
	unsigned at = (unsigned)(long)arg;
	for (int i = 0; i < 600000; i++) {
		at = next[at];
		if (at % 1021 == 0)
			__atomic_add_fetch(&shared, 1, __ATOMIC_RELAXED);
	}
	return (void *)(long)at;
}
int main(void)
{
	pthread_t t;
	for (unsigned i = 0; i < N; i++)
		next[i] = (i * 40503u + 12345u) % N;
	pthread_create(&t, NULL, chase, (void *)1l);
	chase((void *)2l);
	pthread_join(t, NULL);
	return printf("%ld\n", shared) < 0;
}
END
RECORD_OPTIONS=(--hot=0 --ring=1G) # small chunks
recorded ./chase
RECORD_OPTIONS=()
mv recording.tw chase.tw
[ "$(info_value chunks chase.tw)" -gt 4 ] || fail "there are too few chunks for this test"
recorded true
mv recording.tw own-0.tw
recorded ./chase
mv recording.tw own-1.tw

for name in mix footprint touch branches cct; do
	more=() numbers=($(full "2 3 4" "2 3"))
	case $name in
	touch) more=(shared) numbers=(4) ;;
	branches | cct) numbers=(3) ;; # by thread
	esac
	left_out "$name" mix footprint && numbers=(3)
	"$TW" analyze $name "${more[@]}" chase.tw >plain || fail "$name"
	for n in "${numbers[@]}"; do
		ranks $n $name "${more[@]}" -j1 chase.tw >found 2>err || fail "$name with $n ranks: $(cat err)"
		diff plain found >diff.out || fail "$name: $n ranks give another answer: $(head -n 5 diff.out)"
	done
	case $name in
	branches | cct) grep -q "^trackway-mpi analyze: $name: it cannot be merged across chunks, and runs by thread$" err || fail "$name: $(cat err)" ;;
	*) [ -s err ] && fail "$name: says $(cat err)" ;;
	esac
done

# A window by name, which only some ranks find something of; JSON; a file.
"$TW" analyze mix --function main --json chase.tw >plain || fail "mix --function"
ranks 3 mix --function main --json --output found chase.tw || fail "mix --function with 3 ranks"
cmp plain found || fail "a window gives another answer"
ranks 2 mix --function nowhere chase.tw >found 2>err && fail "--function nowhere succeeds"
[ "$(cat err)" = "trackway-mpi analyze: 'nowhere' does not occur in what was analyzed of chase.tw: there is no function nowhere" ] || fail "--function nowhere: $(cat err)"

# What ranks spend their time with: all that was replayed was so by one of them.
ranks 3 mix --times chase.tw >found 2>err || fail "--times"
"$TW" analyze mix chase.tw | cmp - found || fail "--times changes the answer"
insns=$(awk 'NR > 1 { sum += $7 } END { printf "%.0f", sum }' err)
[ "$(wc -l <err)" = 4 ] && [ "$insns" = "$(info_value instructions chase.tw)" ] || fail "--times: $(cat err)"

# Several recordings; one after another, of an analyzer that sees all threads in the order of time too.
for name in mix sharing; do
	for dir in chase.tw own-0.tw own-1.tw; do
		printf '%s:\n\n' $dir
		"$TW" analyze $name $dir || fail "$name $dir"
	done >plain
	ranks 3 $name chase.tw own-0.tw own-1.tw >found 2>err || fail "$name of three recordings: $(cat err)"
	cmp plain found || fail "$name: another answer of three recordings"
done
grep -q '^trackway-mpi analyze: sharing: it needs all threads in time order, and cannot work in parts: one rank looks at each recording$' err ||
	fail "sharing: $(cat err)"

# Recordings of each rank's own.
for rank in 0 1; do
	printf 'own-%d.tw, rank %d:\n\n' $rank $rank
	"$TW" analyze mix own-$rank.tw
done >plain
ranks 2 mix --mine own-%r.tw >found || fail "--mine"
cmp plain found || fail "--mine gives another answer"

# A rank is killed once its parts have been kept.
cc -shared -fPIC -o kill.so -x c - <<'END' || fail "cannot build kill.so"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
int rename(const char *from, const char *to)
{
	int (*next)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
	int result = next(from, to);
	const char *name = strrchr(to, '/');
	if (!strcmp(name ? name + 1 : to, getenv("KILL_AT")))
		raise(SIGKILL);
	return result;
}
END
"$TW" analyze footprint chase.tw >plain || fail footprint
for rank in 0 2; do
	left_out $rank 0 && continue
	rm -f state*
	mpirun --oversubscribe --bind-to none -x LD_PRELOAD="$PWD/kill.so" -x KILL_AT=state.$rank -n 3 \
		"$MPI" analyze footprint -j1 --state state --state-every 0 chase.tw >killed 2>err
	status=$?
	# Which rank works is chance: one that got no piece is not killed.
	if [ $status = 0 ]; then
		cmp plain killed || fail "another answer with --state"
		continue
	fi
	[ -s killed ] && fail "a job that was ended has an answer"
	grep -q "process rank $rank .*signal 9" err || fail "nobody says that rank $rank was killed: $(cat err)"
	[ -s state.$rank ] || fail "rank $rank has kept nothing"
	ranks 2 footprint -j1 --state state chase.tw >found 2>err || fail "--state: $(cat err)"
	cmp plain found || fail "another answer where it goes on"
done
[ "$(echo state*)" = state ] || fail "there are files left: $(echo state*)"
"$TW" analyze footprint --state state chase.tw >found || fail "a plain run with the state of a job"
cmp plain found || fail "another answer of a plain run with the state of a job"
ranks 4 footprint --state state chase.tw >found || fail "a job with a state that is whole"
cmp plain found || fail "another answer of a state that is whole"

# What is wrong is said once.
said_once()
{
	"$@" >out 2>err && fail "$*: succeeds"
	[ "$(wc -l <err)" = 1 ] || fail "$*: not one sentence: $(cat err)"
}
says_once()
{
	grep -q "^trackway-mpi.*$1" err || fail "does not say '$1': $(cat err)"
}
said_once ranks 3 mix --state state chase.tw
says_once 'state: it holds the state of footprint, not of mix'
echo junk >state
said_once ranks 3 mix --state state chase.tw
says_once 'state: it is not a --state file'
said_once ranks 3 sharing --state state chase.tw
says_once 'cannot work in parts'
said_once ranks 2 mix no-such.tw
says_once 'no-such.tw: '
said_once ranks 2 no-such chase.tw
says_once 'there is no analyzer of that name; there are'
said_once ranks 2 mix --no-such chase.tw
says_once 'there is no option --no-such'
said_once ranks 2 mix
says_once 'recording'
exit 0
