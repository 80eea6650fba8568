# For each analyzer there is: several jobs give the answer of one; text fits 80 columns; JSON and CSV are that; --help and the man page know it; a recording without what it
# needs is refused by name.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program many -pthread -O1 <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long shared;
static void *work(void *arg)
{
	long n = (long)arg, *own = calloc(4096, sizeof *own);
	for (long i = 0; i < 5000; i++)
		own[i * n % 4096] += i;
	for (int i = 0; i < 50; i++) {
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
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 3));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	work((void *)7l);
	return printf("%ld\n", shared) < 0;
}
END
RECORD_OPTIONS=(--order --calls)
recorded ./many
RECORD_OPTIONS=(-f dep-c)
mv recording.tw whole.tw
recorded true
mv recording.tw flow.tw
make_data text 50000
RECORD_OPTIONS=(--calls)
recorded gzip -9c text
mv recording.tw gzip.tw
"$TW" analyze --list >list || fail "--list"
[ -s list ] || fail "--list is empty"
awk 'length > 80 { exit 1 }' list || fail "--list is wider than 80 columns"

while read -r name _; do
	# What it must be told: here, which variable.
	case $name in
	touch) more=(shared) ;;
	diff) continue ;; # of two recordings: it has a test of its own
	*) more=() ;;
	esac
	for dir in whole.tw gzip.tw; do
		[ $dir$name = gzip.twtouch ] && more=(0x10000000+16)
		"$TW" analyze "$name" "${more[@]}" -j1 $dir >one 2>err || fail "$name of $dir: $(cat err)"
		"$TW" analyze "$name" "${more[@]}" -j5 $dir >five || fail "$name -j5 of $dir"
		diff one five >diff.out || fail "$name: five jobs give another answer of $dir: $(head -n 5 diff.out)"
		awk 'length > 80 { exit 1 }' one || fail "$name: text of $dir is wider than 80 columns"
		[ -s one ] || fail "$name: no answer"
	done
	"$TW" analyze "$name" "${more[@]}" --json gzip.tw | python3 -c 'import json, sys; assert len(json.load(sys.stdin)) > 1' || fail "$name: --json"
	"$TW" analyze "$name" "${more[@]}" --csv gzip.tw | python3 -c '
import csv, sys
rows = list(csv.reader(sys.stdin))
assert rows and all(len(row) == len(rows[0]) for row in rows)' || fail "$name: --csv"
	"$TW" analyze "$name" --help >help || fail "$name: --help"
	awk 'length > 80 { exit 1 }' help || fail "$name: --help is wider than 80 columns"
	grep -q "^\.SS $name\$" "$ROOT/man/trackway-analyze.1" || fail "$name: not in the man page"
	one_sentence "$TW" analyze "$name" --no-such gzip.tw
	says "no-such; there are .*--json"
	"$TW" analyze "$name" "${more[@]}" flow.tw >out 2>err || {
		[ "$(wc -l <err)" = 1 ] || fail "$name: not one sentence of a recording without references: $(cat err)"
		grep -q "trackway analyze: $name: it needs" err || fail "$name: does not say what it needs: $(cat err)"
	}
done <list
exit 0
