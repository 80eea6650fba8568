# info --engine: what the engine did agrees with what is known of a program otherwise; a program that a signal ends leaves its translations as well.
. "$(dirname "$0")/../lib.sh"
need_command python3

cc_program calls -O1 <<'END'
#include <unistd.h>
#include <sys/syscall.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#define EIGHT(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define FUNCTION(n) static __attribute__((noinline)) int f##n(int k) { __asm__ volatile("" : "+r"(k)); return k > 1##n ? k - 1 : k + 2; }
#define ALL(m) EIGHT(m, 0) EIGHT(m, 1) EIGHT(m, 2) EIGHT(m, 3) EIGHT(m, 4) EIGHT(m, 5) EIGHT(m, 6) EIGHT(m, 7)
ALL(FUNCTION)
#define NAME(n) f##n,
static int (*const functions[])(int) = {ALL(NAME)};
int main(int argc, char **argv)
{
	const int n = atoi(argv[1]);
	int sum = 0;
	for (int i = 0; i < n; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < 64; i++)
		sum += functions[i](i);
	printf("%d\n", sum);
	fflush(stdout);
	if (argc > 2)
		kill(getpid(), atoi(argv[2]));
	return 0;
}
END

# figure NAME FILE: a figure of the engine's
figure() { python3 -c 'import json, sys; print(json.load(open(sys.argv[2]))["engine"][sys.argv[1]])' "$1" "$2"; }

for format in none dep; do
	for n in 10 1010; do
		"$TW" record -q -f $format --keep=none -o r.tw -- ./calls $n >/dev/null || fail "record"
		"$TW" info --json r.tw >$n.json || fail "info --json"
	done
	# one that a signal of the recorder's breaks off, on a machine that is slow, is made again
	more=$(($(figure syscalls 1010.json) - $(figure syscalls 10.json)))
	[ $more -ge 995 ] && [ $more -le 1005 ] || fail "$format: calls: $(figure syscalls 10.json), $(figure syscalls 1010.json)"
	[ "$(figure fragments 10.json)" -gt 500 ] && [ "$(figure lookups 10.json)" -ge 64 ] && [ "$(figure not_found 10.json)" -ge 64 ] ||
		fail "$format: few fragments or lookups: $(cat 10.json)"
	[ "$(figure cache_bytes 10.json)" -ge "$(figure code_bytes 10.json)" ] || fail "$format: bytes"
	[ "$(figure most_pieces 10.json)" -ge $(($(figure fragments 10.json) + $(figure lookups 10.json))) ] || fail "$format: pieces"
	[ "$(figure most_cache_bytes 10.json)" -ge "$(figure cache_bytes 10.json)" ] || fail "$format: memory"
	[ "$(figure finding_cycles 10.json)" -gt 0 ] || fail "$format: time"
done
[ "$(figure taken 10.json)" = 0 ] || fail "what did not happen is counted"
"$TW" info --engine r.tw >text || fail "info --engine"
grep -qE "^fragments +$(figure fragments 1010.json)  translations" text || fail "as text: $(cat text)"
grep -qE '^for each piece +[0-9]+  bytes' text || fail "as text: $(cat text)"
grep -q '^modules' text && fail "the text has more"

# left by those that end themselves, and by those that a signal ends that was sent to them
sleep 4.2 # so old that the program has an identity
for format in none dep; do
	rm -rf kept
	mkdir kept
	for which in 1 2; do
		"$TW" record -q -f $format --keep=kept -o r.tw -- ./calls 10 15 >/dev/null 2>&1
		[ $? = 143 ] || fail "$format: not ended by SIGTERM"
		"$TW" info --json r.tw >$which.json
	done
	[ "$(figure left 1.json)" = 1 ] || fail "$format: SIGTERM: nothing is left"
	[ "$(figure taken 2.json)" = 1 ] || fail "$format: SIGTERM: nothing is taken"
	[ "$(figure fragments 2.json)" -lt $(($(figure fragments 1.json) / 5)) ] || fail "$format: much is translated again: $(figure fragments 2.json)"
done

# a program that records itself has no engine
printf 'int main(void) { return 0; }\n' >own.c
"$TW" cc "$CC" -o own own.c && "$TW" record -q -o own.tw ./own && "$TW" info --engine own.tw | grep -q '^It is not known what the engine did' || fail "without an engine"
exit 0
