# The disk is full while recording: the program goes on and ends as ever, and the recording is closed as incomplete and says so.
. "$(dirname "$0")/../lib.sh"
make_data data 400000
native gzip -9 -n -c data
mkdir small
if mount -t tmpfs -o size=400k tmpfs small 2>/dev/null; then
	CLEANUP+=("umount '$TMP/small'")
	run recorded.out recorded.err "$TW" record -o small/r.tw -- gzip -9 -n -c data
	RECORDED_STATUS=$?
else
	# No root: a limit on the size of files does as well. The program writes to a pipe.
	(
		trap '' XFSZ
		ulimit -f 300
		"$TW" record -o small/r.tw -- gzip -9 -n -c data 2>recorded.err
		echo $? >status
	) | cat >recorded.out
	RECORDED_STATUS=$(cat status)
fi
cmp -s native.out recorded.out || fail "the program's output changed"
[ "$RECORDED_STATUS" = 0 ] || fail "the program's exit status became $RECORDED_STATUS"
grep "$OWN_LINE" recorded.err | grep -qiE 'incomplete' || {
	cat recorded.err
	fail "record does not say that the recording is incomplete"
}
grep -qiE 'space|too large' recorded.err || fail "record does not say why"
"$TW" info small/r.tw >info.out 2>&1
grep -qi incomplete info.out || fail "info does not say that the recording is incomplete"
"$TW" check small/r.tw >check.out 2>&1
[ $? -lt 128 ] || fail "check dies"
grep -qi incomplete check.out || fail "check does not say that the recording is incomplete"
exit 0
