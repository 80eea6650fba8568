# The collector is killed with SIGKILL: the program goes on to its normal end.
. "$(dirname "$0")/../lib.sh"
cat >program.sh <<'END'
echo started
n=0
while [ ! -e killed ]; do n=$((n + 1)); done
for i in 1 2 3; do n=0; while [ $n -lt 20000 ]; do n=$((n + 1)); done; done
gzip -9 -n -c /usr/share/common-licenses/GPL-3 | gzip -dc | cmp - /usr/share/common-licenses/GPL-3 && echo whole >>end
exit 3
END
"$TW" record -o r.tw -- sh program.sh >out 2>err </dev/null &
collector=$!
await started out
kill -KILL $collector
wait $collector 2>/dev/null
: >killed
await whole end
run check.out check.err "$TW" check r.tw
status=$?
[ $status -lt 128 ] || fail "check: status $status"
grep -qi 'incomplete' check.out check.err || fail "check does not say that the recording is incomplete"
