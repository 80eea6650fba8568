# record --with: the answer of each analyzer there is, of a program that runs, is that of the recording made beside; the program is as natively, whatever analyzers do;
# without -o nothing is stored; what is asked wrongly is said before the program starts.
# timeout: 400
. "$(dirname "$0")/../lib.sh"
cc_program many -pthread -O1 <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long shared, handled;
static void on_signal(int number)
{
	handled += number == SIGUSR1;
}
static void *work(void *arg)
{
	long n = (long)arg, *own = calloc(4096, sizeof *own);
	for (long i = 0; i < 20000; i++)
		own[i * n % 4096] += i;
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		shared += own[i];
		pthread_mutex_unlock(&lock);
	}
	free(own);
	return NULL;
}
int main(void)
{
	pthread_t t[4];
	signal(SIGUSR1, on_signal);
	for (int round = 0; round < 2; round++) {
		for (long i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, work, (void *)(i + 3));
		raise(SIGUSR1);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
		pid_t child = fork();
		if (!child) {
			work((void *)5l);
			execl("/bin/sh", "sh", "-c", "echo from the shell; exit 3", NULL);
		}
		waitpid(child, NULL, 0);
	}
	printf("%ld %ld\n", shared, handled);
	fprintf(stderr, "on standard error\n");
	return 7;
}
END
native ./many
with=() names=()
while read -r name _; do
	case $name in
	touch) more=,range=shared ;;
	diff) continue ;; # of two recordings
	*) more= ;;
	esac
	names+=("$name")
	with+=(--with "$name,json,output=on.$name$more")
done < <("$TW" analyze --list)
RECORD_OPTIONS=(--order "${with[@]}")
recorded ./many
compare_runs "record --with all analyzers"
check_good
for name in "${names[@]}"; do
	more=()
	[ "$name" = touch ] && more=(shared)
	"$TW" analyze "$name" "${more[@]}" --json recording.tw >off.json || fail "analyze $name"
	diff "on.$name" off.json >diff.out || fail "$name: another answer while the program ran: $(head -n 10 diff.out)"
done

# Windows, and an analyzer several times.
RECORD_OPTIONS=(--with mix,output=one,json,function=work --with mix,output=two,json,range=shared,thread=1 --with mix,output=three,json,from=1ki,to=20ki)
recorded ./many
compare_runs "record --with windows"
"$TW" analyze mix --json --function work recording.tw | diff one - >diff.out || fail "--function: $(head -n 5 diff.out)"
"$TW" analyze mix --json --range shared --thread 1 recording.tw | diff two - >diff.out || fail "--range: $(head -n 5 diff.out)"
"$TW" analyze mix --json --from 1ki --to 20ki recording.tw | diff three - >diff.out || fail "--from: $(head -n 5 diff.out)"

# Code that the program makes has its name where nothing is kept for another analyzer, too.
cc_program makes -O1 <<'END'
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	static const unsigned char code[] = {0x89, 0xf8, 0xff, 0xc0, 0xc3}; /* mov eax, edi; inc eax; ret */
	int sum = 0;
	char *made = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(made, code, sizeof code);
	memcpy(made + 4096, code, sizeof code);
	if (mprotect(made, 8192, PROT_READ | PROT_EXEC))
		return 1;
	for (int i = 0; i < 20; i++)
		sum += ((int (*)(int))(made + i % 2 * 4096))(i);
	return munmap(made, 8192) || sum != 210;
}
END
RECORD_OPTIONS=(--with mix,json,output=on.mix --with cct,json,output=on.cct --with branches,json,output=on.branches)
recorded ./makes
for name in mix cct branches; do
	"$TW" analyze "$name" --json recording.tw | diff - "on.$name" >diff.out || fail "code that is made: $name: $(head -n 5 diff.out)"
	[ $name = cct ] || grep -q 'JIT code of makes' "on.$name" || fail "$name does not name code that is made"
done

# Nothing is stored; the answer goes to standard error, the program's output is its own.
rm -rf *.tw
run out err "$TW" record -q --with mix,csv=sizes -- ./many
[ $? = 7 ] && cmp -s out native.out || fail "without -o: the program is not as natively"
! ls -d *.tw 2>/dev/null || fail "something was stored"
grep -q '^on standard error$' err && grep -q '^reads,writes,' err || fail "the answer is not on standard error: $(cat err)"

# Analyzers that crash, err, take all memory, or are killed: the program goes on, and so does what is stored.
asan && exit 0 # a plug-in built without the sanitizer does not go with a tool that has it
plugin() { # plugin NAME: its batch() is on standard input
	{
		echo '#include <stdlib.h>
#include <unistd.h>
#include <signal.h>
#include <trackway/context.h>
static const struct tw_context *c;
static uint64_t n;
static void *begin(void *arg) { c = arg; return calloc(1, 8); }
static int merge(void *state, void *later) { (void)state; free(later); return 0; }
static int end(void *state, int error) { free(state); if (!error) tw_answer_fact(tw_context_answer(c), "insns", n); return error; }
static int batch(void *state, const struct tw_batch *b) { (void)state; __atomic_add_fetch(&n, b->n_insns, __ATOMIC_RELAXED);'
		cat
		echo 'return 0; }
static const struct tw_analyzer a = {.name = "a", .begin = begin, .batch = batch, .merge = merge, .end = end};
TW_PLUGIN(a);'
	} >"$1.c"
	$CC -shared -fPIC -I"$ROOT/include" -o "$1.so" "$1.c" || fail "$1.c does not compile"
}
plugin crash <<<'if (n > 50000) abort();'
plugin wrong <<<'if (n > 50000) return tw_context_wrong(c, "this is %d too many", 3);'
plugin killed <<<'if (n > 50000) raise(SIGKILL);'
plugin good <<<''
broken() { # broken NAME PATTERN
	rm -rf recording.tw
	run out err "$TW" record -o recording.tw --with "./$1.so" --with ./good.so,json,output=good.json -- ./many
	[ $? = 7 ] && cmp -s out native.out || fail "$1: the program is not as natively"
	grep -q "$2" err || fail "$1: $(cat err)"
	grep -q 'bytes stored' err || fail "$1: the recording is not whole: $(cat err)"
	check_good
}
broken crash 'trackway record: \./crash\.so: it crashed: SIGABRT'
broken killed "trackway record: the analyzers' process was killed by SIGKILL"
broken wrong 'trackway record: \./wrong\.so: this is 3 too many'
grep -q "\"insns\": $(info_value instructions)" good.json || fail "the other analyzer does not go on: $(cat good.json)"

# What is asked wrongly.
bad() { # bad PATTERN OPTION...
	one_sentence "$TW" record "${@:2}" -- touch ran
	says "$1"
	[ ! -e ran ] || fail "$*: the program ran"
}
bad 'there is no analyzer of that name; there are .*mix' --with nonsense
bad 'does not load' --with ./nonsense.so
bad "there is no option 'nonsense'; there are .*window, .*thread" --with footprint,nonsense=3
bad "window wants a number, not 'x'" --with footprint,window=x
bad 'json takes no value' --with mix,json=1
bad 'from and to must be counts of instructions' --with mix,from=1s
bad 'it needs references' -f dep-c --with footprint
bad 'in format none nothing is recorded' -f none --with mix
bad 'no such file or directory|No such file' --with mix,output=no/such/file
bad '--verify cannot be combined with .--with' --verify --with mix
