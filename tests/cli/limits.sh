# --max-size and --max-time end recording, not the program: its output and status are its own, and what was recorded until then is a whole recording. --progress tells.
. "$(dirname "$0")/../lib.sh"
make_data data 2000000
native gzip -9 -c data
limited() { # limited TEXT OPTION...
	local text=$1
	shift
	rm -rf r.tw
	run recorded.out r.err "$TW" record -o r.tw "$@" gzip -9 -c data
	[ $? = "$NATIVE_STATUS" ] || fail "$*: not the program's status"
	cmp -s native.out recorded.out || fail "$*: not the program's output"
	grep -q "recording ended at $text; the program went on" r.err || fail "$*: $(cat r.err)"
	check_good r.tw
	"$TW" info r.tw | grep -qE '^state +complete$' || fail "$*: info does not call it complete"
	"$TW" info r.tw | grep -qF "the start to $text" || fail "$*: info does not tell the limit"
}
"$TW" record -q -o whole.tw gzip -9 -c data >/dev/null || fail "record"
all=$(info_value instructions whole.tw)
size=$(info_value stored_bytes whole.tw)
limited '--max-size=300k' --max-size=300k
# What the spool will come to is estimated, so a little is stored more or less.
[ "$(info_value stored_bytes r.tw)" -ge 30000 ] || fail "hardly anything is stored"
[ "$(info_value stored_bytes r.tw)" -lt "$size" ] || fail "all is stored"
cat data data data data data data data data >more
rm -rf r.tw
"$TW" record -q -o r.tw --max-size=1M gzip -9 -c more >/dev/null || fail "record --max-size=1M"
[ "$(info_value stored_bytes r.tw)" -lt 8000000 ] || fail "--max-size=1M: $(info_value stored_bytes r.tw) bytes are stored"
[ "$(info_value instructions r.tw)" -lt "$all" ] || fail "all is recorded"
limited '--max-time=20ms' --max-time=20ms
[ "$(info_value instructions r.tw)" -lt "$all" ] || fail "all is recorded"

# A limit that is not reached changes nothing.
"$TW" record -o r.tw --max-size=900G --max-time=100000s gzip -9 -c data 2>r.err >recorded.out || fail "a limit that is not reached: status $?: $(cat r.err)"
! grep -q 'recording ended' r.err || fail "a limit is told that is not reached"
[ "$(info_value instructions r.tw)" -gt $((all * 9 / 10)) ] || fail "less is recorded"

# Threads and children too.
cc_program four -pthread <<-'END_C'
	#include <pthread.h>
	#include <stdio.h>
	#include <unistd.h>
	#include <sys/wait.h>
	static void *work(void *sum)
	{
		for (volatile long i = 0; i < 3000000; i++)
			*(long *)sum += i;
		return sum;
	}
	int main(void)
	{
		pthread_t t[3];
		long sum[4] = {0};
		int child = fork();
		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], 0, work, &sum[i]);
		work(&sum[3]);
		for (int i = 0; i < 3; i++)
			pthread_join(t[i], 0);
		if (child)
			wait(0);
		printf("%ld\n", sum[0] + sum[1] + sum[2] + sum[3]);
		return 5;
	}
END_C
native ./four
run recorded.out r.err "$TW" record -o r.tw --max-time=30ms ./four
[ $? = 5 ] || fail "threads: not the program's status"
[ "$(sort native.out)" = "$(sort recorded.out)" ] || fail "threads: not the program's output"
check_good r.tw

# Where standard error is no terminal, a line for each SIGUSR1, which the program does not get.
cc_program waits <<-'END_C'
	#include <stdio.h>
	int main(void) { return puts("ready") < 0 || fflush(stdout) || getchar() != 'x' ? 1 : 9; }
END_C
mkfifo in
"$TW" record -o r.tw --progress ./waits <in >ready 2>r.err &
recorder=$!
exec 3>in
while kill -0 $recorder && ! [ -s ready ]; do sleep 0.05; done
for ((i = 0; i < 600; i++)); do
	kill -USR1 $recorder || fail "--progress: SIGUSR1 ended the recorder"
	grep -q 'instructions, .* MB stored' r.err && break
	sleep 0.05
done
printf x >&3
exec 3>&-
wait $recorder
[ $? = 9 ] || fail "--progress: not the program's status"
grep -q '^trackway: [0-9.]* s, [0-9]* M instructions, [0-9]* M references, [0-9.]* MB stored' r.err || fail "--progress: $(cat r.err)"

for wrong in --max-size=0 --max-size=5X --max-size=-1 --max-size=99999999999G --max-time=5 --max-time=5Mi --max-time=0s; do
	one_sentence "$TW" record $wrong true
	says 'wants a (size|time)'
done
one_sentence "$TW" record --max-size=1M --sink=count true
says 'no recording is stored'
exit 0
