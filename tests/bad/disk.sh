# The disk is full while recording: the program goes on and ends as ever, and the recording is closed as incomplete and says so.
# Who is not root mounts a file system in a namespace of his own, where that is allowed.
[ "$(id -u)" = 0 ] || ! unshare -rm true 2>/dev/null || exec unshare -rm bash "$0"
. "$(dirname "$0")/../lib.sh"
make_data data 400000
native gzip -9 -n -c data
mkdir small
mount -t tmpfs -o size=400k tmpfs small 2>/dev/null || skip 'no small file system can be mounted here'
CLEANUP+=("umount '$TMP/small'")
run recorded.out recorded.err "$TW" record -o small/r.tw -- gzip -9 -n -c data
RECORDED_STATUS=$?
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
summary=$(sed -n 's/.*; in it are \([0-9]*\) instructions.*/\1/p' recorded.err)
[ "$summary" = "$(info_value instructions small/r.tw)" ] || fail "record says that $summary instructions are in it, info $(info_value instructions small/r.tw)"
grep -q 'good' check.out && [ "$summary" = 0 ] && fail "check calls a recording good in which there is nothing"

# Standard error is on the same disk, and there is room again before the end: what could not be said then is said now (or was said when a little room was left).
rm -rf small/r.tw
cat >fills.sh <<'END'
cat /dev/zero >small/zeros 2>/dev/null
gzip -9 -n -c data
rm small/zeros
END
run recorded.out small/err "$TW" record -o small/r.tw -- sh fills.sh
[ $? = 0 ] || fail "the exit status of a program that fills the disk changed"
cmp -s native.out recorded.out || fail "the output of a program that fills the disk changed"
grep "$OWN_LINE" small/err | grep -qiE '(incomplete:|recording stopped,) .*space' || {
	cat small/err
	fail "where standard error is on the full disk, record does not say why the recording is incomplete"
}

# A disk that is full from the start: nothing is run, and nothing is left that the next recording would not touch.
rm -rf small/*
cat /dev/zero >small/zeros 2>/dev/null
one_sentence "$TW" record -o small/r.tw -- touch ran
says 'space'
[ ! -e ran ] || fail "the command ran although there is no recording"
printf 'I  04016b80,3\n S 1ffe,8\n' >trace
one_sentence "$TW" import lackey -o small/i.tw trace
says 'space'
[ "$(ls small)" = zeros ] || fail "on a full disk there was left: $(ls small)"
exit 0
