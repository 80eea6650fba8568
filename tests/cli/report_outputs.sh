# report: text, JSON and CSV come from one replay, the page goes with them, and all are the same as one by one; files are whole or not there, and devices stay devices.
. "$(dirname "$0")/../lib.sh"
cc_program two -O1 -g -pthread <<'END'
#include <pthread.h>
static int sums[2], table[64][64];
static void *add(void *to)
{
	for (int i = 0; i < 6000; i++)
		*(int *)to += table[i % 64][i % 7];
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
report() { "$TW" report "$@" recording.tw; }
report --html one.html || fail "--html"
for table in --functions --lines --memory --tree "--callers add" --blocks; do
	report $table --json >one.json && report $table --csv >one.csv && report $table -n 0 >one.text || fail "$table"
	report $table -n 0 --html=all.html --json=all.json --csv=all.csv --text >all.text 2>all.err || fail "$table, all at once: $(cat all.err)"
	for form in html json csv text; do
		cmp one.$form all.$form || fail "$table: $form is another one beside the others"
	done
done
report --last 2 --json >one.json && report --last 2 --json=all.json && cmp one.json all.json || fail "--last to a file"

# What is not whole is not there; what was there stays. A device is written, not replaced.
echo mine >kept.json
report --thread 77 --json=kept.json 2>err && fail "a thread that is not there"
[ "$(cat kept.json)" = mine ] || fail "a report that failed wrote over a file"
ln -s elsewhere.json link.json
report --json=link.json || fail "--json to a link"
cmp one.json elsewhere.json 2>/dev/null && fail "the wrong report"
[ -L link.json ] && [ -s elsewhere.json ] || fail "a link was replaced"
mknod null c 1 3 2>/dev/null && : >null 2>/dev/null && {
	report --html=null --json=null || fail "to a device"
	[ -c null ] || fail "a device was replaced"
}
report --json=/dev/full 2>err && fail "a full disk"
grep -q "cannot write /dev/full: No space left on device" err || fail "a full disk: $(cat err)"
report --html=/dev/full 2>err && fail "a full disk, --html"
grep -q "cannot write /dev/full: No space left on device" err || fail "a full disk, --html: $(cat err)"
ls ./*.new >/dev/null 2>&1 && fail "files are left over: $(ls)"

wants_usage() { # words of the message, options
	report "${@:2}" 2>err >out
	[ $? = 2 ] && grep -q -- "$1" err || fail "${*:2}: $(cat err)"
}
wants_usage "only one of the outputs" --json --csv
wants_usage "only one of the outputs" --html - --text
wants_usage "it cannot be combined with" --html=x.html --text --thread 0
wants_usage "--text, --json or --csv as well" --html=x.html --lines
wants_usage "as in --json=FILE" --json x.json
wants_usage "is a file of the recording" --json=recording.tw/header

# However many outputs there are, a damaged chunk is told once.
file=$(ls recording.tw/thread-* | tail -n 1)
size=$(wc -c <"$file")
printf '\377\377\377\377' | dd of="$file" bs=1 seek=$((size / 2)) conv=notrunc status=none
report --html=all.html --json=all.json --text >out 2>err
[ $? = 1 ] && [ -s all.html ] && [ -s all.json ] && [ -s out ] || fail "a damaged recording: $(cat err)"
[ "$(grep -c 'damaged' err)" = 1 ] || fail "damage is told more than once, or not at all: $(cat err)"
