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
exit 0
