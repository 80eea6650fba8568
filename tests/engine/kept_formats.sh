# Translations kept for formats that record: a program that has been recorded before begins with its fragments, superblocks and descriptors, and the recording is as good: every
# reference is compared, totals are the same, and nothing that was kept is needed to read it.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
KEPT=$XDG_CACHE_HOME/trackway/translations

cc_program prog -D_GNU_SOURCE <<'E'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int order(const void *a, const void *b) { return memcmp(a, b, 4); }
int main(int argc, char **argv)
{
	static char text[2500][8];
	unsigned x = 1, sum = 0;
	for (int i = 0; i < 2500; i++) {
		x = x * 1103515245 + 12345;
		snprintf(text[i], sizeof text[i], "%05u", x >> 16);
	}
	qsort(text, 2500, sizeof *text, order);
	for (int i = 0; i < 2500; i++)
		sum = sum * 31 + (unsigned)strtoul(text[i], NULL, 10);
	printf("%u\n", sum);
	fflush(stdout);
	for (int i = 1; i < argc; i++) { /* forks that do something of their own, and others that run the program again */
		if (!fork()) {
			if (argv[i][0] == 'x')
				execl(argv[0], argv[0], (char *)NULL);
			_exit(printf("%.*g\n", i, 1.0 / 3) < 0 || fflush(stdout));
		}
		wait(NULL);
	}
	return 3;
}
E
sleep 4.2 # so old that it has an identity

# begins HOW-MANY WHAT OPTION... -- ARGUMENT...: it runs as natively, so many of its programs begin with translations, and a recording that is stored is good
begins() {
	local many=$1 what=$2 options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	./prog "$@" >native.out
	"$TW" record "${options[@]}" -o r.tw -- ./prog "$@" >ours.out 2>ours.err
	[ $? = 3 ] || fail "$what: $(cat ours.err)"
	cmp native.out ours.out || fail "$what: other output"
	grep -q 'differ' ours.err && fail "$what: $(cat ours.err)"
	TOOK=$(sed -n 's/.*; \([0-9]*\) of [0-9]* programs and .*/\1/p' ours.err)
	[ "${TOOK:-0}" = "$many" ] || fail "$what: ${TOOK:-0} programs began with translations, not $many: $(cat ours.err)"
	case "${options[*]}" in
	*count*) ;;
	*) "$TW" check -q r.tw >check.out 2>&1 || fail "$what: $(cat check.out)" ;;
	esac
}
total() { "$TW" info r.tw | awk -v of="$1" '$1 == of { print $2 }'; }

for how in "-f dep --verify" "-f dep" "-f dep --sink=count" "-f dep-c" "-f bb_pc" "-f mem_addr --verify" "-f bb_pc+mem_addr" "-f call"; do
	left_out "$how" "-f bb_pc" "-f mem_addr --verify" && continue # both are in bb_pc+mem_addr
	rm -rf "$KEPT"
	# shellcheck disable=SC2086
	{
		begins 0 "$how, the first time" $how --
		before=$(total blocks)
		begins 1 "$how, the second time" $how --
		begins 1 "$how, the third time" $how --
	}
	after=$(total blocks) # what the loader does depends on the stack a little
	[ $((after > before ? after - before : before - after)) -lt 2000 ] || fail "$how: $before blocks, then $after"
done

# nothing that was kept is needed to read it, and names are found
rm -rf "$KEPT"
begins 0 "one" -f dep --
begins 1 "one again" -f dep --
rm -rf "$KEPT"
"$TW" check -q r.tw || fail "a recording needs what was kept"
"$TW" report r.tw >report.out || fail "report"
for f in order main; do
	grep -qw "$f" report.out || fail "$f is not in the report: $(head -n 20 report.out)"
done

# forks, and processes that run it again, within a recording and from one to the next
begins 2 "forks" -f dep --verify -- a x b x
begins 3 "forks again" -f dep --verify -- a x b x
begins 3 "forks counted" -f dep --verify -- b x a x
rm -rf "$KEPT"
begins 2 "forks, counted" -f dep --sink=count -- a x b x
begins 3 "forks, counted again" -f dep --sink=count -- a x b x

# what is damaged is made anew
FILE=$(find "$KEPT" -name '*.snapshot')
truncate -s -4096 "$FILE"
begins 0 "a file without its end" -f dep --sink=count --
begins 1 "after a file without its end" -f dep --sink=count --
cp -p "$FILE" whole
for part in 1 4 6 8 9; do
	dd if=/dev/urandom of="$FILE" bs=1 count=64 seek=$(($(stat -c %s "$FILE") * part / 10)) conv=notrunc status=none
	touch -r whole "$FILE"
	begins 0 "a file with other bytes and its times put back" -f dep --sink=count --
	begins 1 "after a file with other bytes" -f dep --sink=count --
	cp -p "$FILE" whole
done
printf 'xxxxxxxx' | dd of="$FILE" bs=1 seek=48 conv=notrunc status=none
begins 0 "a file with another length of descriptors" -f dep --sink=count --
begins 1 "after that" -f dep --sink=count --

# many at once, of one recording and of several
cat >many.sh <<'E'
for i in 1 2 3 4 5 6; do ./prog x & done
wait
E
sh many.sh >native.out
for i in 1 2; do
	"$TW" record -f dep --verify -o r.tw -- sh many.sh >ours.out 2>ours.err || fail "many: $(cat ours.err)"
	cmp native.out ours.out || fail "many at once run otherwise"
	grep -q 'all equal' ours.err || fail "many: $(cat ours.err)"
done
rm -rf "$KEPT"
pids=()
for i in 1 2 3; do
	"$TW" record -q -f dep --sink=count -o "r$i.tw" ./prog >"out$i" 2>&1 &
	pids+=($!)
done
for i in 1 2 3; do
	wait "${pids[i - 1]}"
	[ $? = 3 ] || fail "one of several recordings at once"
done
begins 1 "after several at once" -f dep --sink=count --
exit 0
