# Options of record: where it records, what is kept, what it says, formats and sinks.
. "$(dirname "$0")/../lib.sh"
# the default place, and one older recording kept
"$TW" record /bin/true 2>first || fail "record: $(cat first)"
[ -d true.tw ] || fail "no true.tw"
[ "$(wc -l <first)" = 1 ] && grep -q '^trackway: .*instructions.*references' first || fail "no summary line: $(cat first)"
: >true.tw/mark 2>/dev/null && rm true.tw/mark
cp -r true.tw kept
"$TW" record -q true 2>second || fail "record -q"
[ ! -s second ] || fail "-q is not quiet: $(cat second)"
diff -r kept true.tw.old >/dev/null || fail "the older recording was not kept as true.tw.old"
check_good true.tw
"$TW" record -q true && "$TW" record -q true || fail "a third and a fourth time"
[ "$(ls -d true* | tr '\n' ' ')" = 'true.tw true.tw.old ' ] || fail "there is more than true.tw and true.tw.old: $(ls -d true*)"
"$TW" record -q -o somewhere/ -- true || fail "-o"
check_good somewhere
"$TW" record -q --output=else -- true || fail "--output"

# options after the command are the command's
same_as_native echo -q -o x --verify -- --help
same_as_native sh -c 'exit 42'

# counting: no streams stored, totals all the same
"$TW" record -q --sink=count -o counted.tw -- true || fail "--sink=count"
"$TW" record -q --sink=file -o filed.tw -- true || fail "--sink=file"
a=$(info_value instructions counted.tw) b=$(info_value instructions filed.tw)
[ "$a" -gt 10000 ] && [ $((a > b ? a - b : b - a)) -lt $((b / 50 + 1)) ] || fail "counted $a instructions, filed $b"
[ "$(info_value refs counted.tw)" -gt 1000 ] || fail "no references counted"
[ "$(du -sk counted.tw | cut -f 1)" -le "$(du -sk filed.tw | cut -f 1)" ] || fail "--sink=count stores more"
one_sentence "$TW" dump counted.tw
says 'count'

# the other formats
"$TW" record -q -f none -- sh -c 'echo none; exit 3' >none.out
[ $? = 3 ] && [ "$(cat none.out)" = none ] || fail "-f none"
"$TW" record -q -f call -o call.tw -- true || fail "-f call"
check_good call.tw
[ "$(info_value refs call.tw)" -gt 1000 ] || fail "-f call records no references"

# help and versions
for c in record info report dump check; do
	"$TW" $c --help >help.out || fail "$c --help"
	grep -q "^Usage: trackway $c" help.out || fail "$c --help does not begin with its usage"
	"$TW" help $c | cmp -s - help.out || fail "help $c"
	[ "$(awk '{ if (length > m) m = length } END { print m }' help.out)" -le 80 ] || fail "$c --help is wider than 80 columns"
	[ -f "$ROOT/man/trackway-$c.1" ] || fail "no man page for $c"
	# every option of the help is in the man page
	grep -oE -- '--[a-z-]+' help.out | sort -u | while read -r o; do
		sed 's/\\-/-/g' "$ROOT/man/trackway-$c.1" | grep -q -- "$o" || fail "trackway-$c.1 does not tell of $o"
	done || exit 1
done
"$TW" --version | grep -qE '^trackway [0-9]+\.[0-9]+$' || fail "--version"
"$TW" --help | grep -q record || fail "--help"
