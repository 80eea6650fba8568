# Places where no recording can be made: the command is not run.
. "$(dirname "$0")/../lib.sh"
refused() {
	one_sentence "$TW" record -o "$1" -- touch ran
	[ ! -e ran ] || fail "the command ran all the same"
}
refused /proc/recording.tw
: >file
refused file/recording.tw
refused file
refused no/such/parent.tw
mkdir full && : >full/precious
refused full
[ -e full/precious ] || fail "a directory that is no recording was touched"
# A recording is kept as .old; what stands there and is none is not touched.
"$TW" record -q -o r.tw true || fail "record"
mkdir r.tw.old && : >r.tw.old/precious
refused r.tw
[ -e r.tw.old/precious ] || fail "r.tw.old was touched"
if [ "$(id -u)" != 0 ]; then
	mkdir locked && chmod 500 locked
	refused locked/r.tw
fi
# A recording that is still being written is renamed too, and is whole in the end, as is the one that took its name.
"$TW" record -q -o both.tw -- sh -c ': >begun; while [ ! -e go ]; do sleep 0.05; done; ls / >/dev/null' &
first=$!
until [ -e begun ]; do sleep 0.05; done
"$TW" record -q -o both.tw true || fail "a second recording of the same name"
check_good both.tw
: >go
wait $first || fail "the first recording of the name"
check_good both.tw
check_good both.tw.old
"$TW" info both.tw | grep -q '^command *true$' || fail "the second recording is not that of true"
"$TW" info both.tw.old | grep -q 'ls /' || fail "the first recording does not know all of its processes"
exit 0
