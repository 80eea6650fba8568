# analyze --state: a run goes on where one that was killed stopped, with the text of a run in one go, for each analyzer that has pack(); the same answer in another form comes from
# the file; files that are damaged, or of something else, are told of in one sentence.
. "$(dirname "$0")/../lib.sh"
need_command python3
asan && skip "a plug-in built without the sanitizer does not go with a tool that has it"
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

# Kills the process once so many state files have come to their place.
cc -shared -fPIC -o kill.so -x c - <<'END' || fail "cannot build kill.so"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
int rename(const char *from, const char *to)
{
	static int n;
	int (*next)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
	int result = next(from, to);
	if (++n == atoi(getenv("KILL_AT")))
		raise(SIGKILL);
	return result;
}
END

# analyze_killed NAME ARGUMENT...: a run over $of that is killed, once its state has been kept twice, or once for an analyzer that sees whole threads.
of=chase.tw
analyze_killed()
{
	local at=2
	case $1 in branches | cct) at=1 ;; esac
	rm -f state
	KILL_AT=$at LD_PRELOAD=$PWD/kill.so "$TW" analyze "$@" --state state --state-every 0 -j1 "$of" >killed 2>err
	[ $? = 137 ] || fail "$1: was not killed: $(cat err)"
	[ -s killed ] && fail "$1: a run that was killed has an answer"
}

for name in mix footprint branches cct touch; do
	case $name in
	touch) more=(shared) ;;
	*) more=() ;;
	esac
	"$TW" analyze $name "${more[@]}" chase.tw >plain || fail "$name"
	analyze_killed $name "${more[@]}"
	"$TW" analyze $name "${more[@]}" --state state -j2 chase.tw >went-on || fail "$name --state"
	diff plain went-on >diff.out || fail "$name: another answer where it goes on: $(head -n 5 diff.out)"
	"$TW" analyze $name "${more[@]}" --json chase.tw >plain || fail "$name --json"
	"$TW" analyze $name "${more[@]}" --json --state state chase.tw >again || fail "$name --json --state"
	cmp plain again || fail "$name: another answer from a state that is whole"
done

# What a forked process inherits is known where its parent's calls were followed by the run that was killed.
cc_program forks -O1 <<'END'
#include <sys/wait.h>
#include <unistd.h>
static volatile long sink;
static int __attribute__((noipa)) parent(int n)
{
	pid_t child = fork();
	for (int i = 0; i < 1000 * (child == 0); i++)
		sink += i;
	if (!child && n)
		_exit(parent(n - 1));
	waitpid(child, 0, 0);
	return child == 0;
}
int main(void)
{
	return parent(2);
}
END
recorded ./forks
mv recording.tw forks.tw
"$TW" analyze cct --folded forks.tw >plain || fail "cct of forks"
[ "$(grep -cE 'main;parent(;parent)* [0-9]{4,}$' plain)" = 3 ] || fail "no forked process ran below its parent's calls: $(grep parent plain)"
of=forks.tw
analyze_killed cct --folded
of=chase.tw
"$TW" analyze cct --folded --state state forks.tw | cmp - plain || fail "forks: another answer where it goes on"

# A window by name: what the first run has found counts.
"$TW" analyze mix --function chase chase.tw >plain || fail "mix --function"
analyze_killed mix --function chase
"$TW" analyze mix --function chase --state state chase.tw >went-on || fail "mix --function --state"
cmp plain went-on || fail "another answer with a window"
rm state

# What is wrong with a state file.
"$TW" analyze mix --state state chase.tw >plain || fail "--state"
cp state good
refused()
{
	one_sentence "$TW" analyze "$@"
	cmp -s good state || fail "the file was changed"
}
refused cct --state state chase.tw
says 'state: it holds the state of mix, not of cct'
refused mix --function main --state state chase.tw
says 'state: it was made with other options of mix'
recorded true
refused mix --state state recording.tw
says 'state: it is of another recording, or this one has changed since'
refused sharing --state state chase.tw
says 'sharing: it needs all threads in time order, and cannot work in parts'
refused mix --state chase.tw/header chase.tw
says 'it is a file of the recording'
one_sentence "$TW" analyze mix --state no/such chase.tw
says 'no/such: No such file'
one_sentence "$TW" analyze mix --state-every often chase.tw
says 'wants a number of seconds'

# Bytes 0 to 7 say what the file is, 8 to 11 its version, 12 to 15 that of the state.
cat >poke.py <<'END'
import sys
at, value = int(sys.argv[1]), int(sys.argv[2])
data = bytearray(open("good", "rb").read())
if at < 0:
    data = data[:value]
else:
    data[at] = value if data[at] != value else value ^ 1
open("state", "wb").write(data)
END
damaged()
{
	python3 poke.py "$1" "$2" || fail "poke.py"
	one_sentence "$TW" analyze mix --state state chase.tw
	says "state: $3"
}
damaged 0 0 'it is not a --state file'
damaged 8 99 'it is in version 99 of its format, this is version 1'
damaged 12 99 'it is damaged'
damaged 20 1 'it is damaged'
size=$(stat -c %s good)
for at in 90 150 170 500 $((size / 2)) $((size - 1)); do
	damaged "$at" 77 'it is damaged'
done
for left in 95 100 200 $((size / 2)) $((size - 1)); do
	damaged -1 "$left" 'it is damaged'
done
damaged -1 0 'it is not a --state file'
damaged -1 40 'it is not a --state file'

# A state in another version of an analyzer's: with all checksums right.
cat >other.c <<'END'
#include <stdlib.h>
#include <trackway/context.h>
static void *begin(void *arg) { (void)arg; return calloc(1, 8); }
static int batch(void *state, const struct tw_batch *b) { *(uint64_t *)state += b->n_insns; return 0; }
static int merge(void *state, void *later) { *(uint64_t *)state += *(uint64_t *)later; free(later); return 0; }
static int end(void *state, int error) { free(state); return error; }
#ifdef PACK
static int pack(const void *state, FILE *to) { return fwrite(state, 8, 1, to) != 1; }
static int unpack(void *state, FILE *from) { return fread(state, 8, 1, from) != 1; }
#endif
static const struct tw_analyzer other = {.name = "other", .begin = begin, .batch = batch, .merge = merge, .end = end,
#ifdef PACK
	.pack = pack, .unpack = unpack, .pack_version = PACK
#endif
};
TW_PLUGIN(other);
END
for version in 1 2; do
	cc -shared -fPIC -DPACK=$version -I"$ROOT/include" -o other$version.so other.c || fail "cannot build other.c"
done
cc -shared -fPIC -I"$ROOT/include" -o other.so other.c || fail "cannot build other.c"
rm state
"$TW" analyze ./other1.so --state state chase.tw || fail "a plug-in with --state"
one_sentence "$TW" analyze ./other2.so --state state chase.tw
says 'it holds version 1 of the state of other, this is version 2'
one_sentence "$TW" analyze ./other.so --state state chase.tw
says 'it has no pack\(\) and unpack\(\)'

# A recording with a damaged chunk: the exit status is that of one both times.
rm state
python3 - chase.tw/thread-0000 <<'END' || fail "python3"
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) // 2] ^= 0x55
open(sys.argv[1], "wb").write(data)
END
"$TW" analyze footprint chase.tw >plain 2>err
[ $? = 1 ] || fail "a damaged recording has another exit status"
for i in 1 2; do
	"$TW" analyze footprint --state state chase.tw >went-on 2>err
	[ $? = 1 ] || fail "--state: a damaged recording has another exit status in run $i"
	cmp plain went-on || fail "another answer of a damaged recording in run $i"
done
exit 0
