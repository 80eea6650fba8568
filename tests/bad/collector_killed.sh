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
for _ in $(seq 300); do grep -q started out && break; sleep 0.1; done
grep -q started out || fail "the program did not start"
kill -KILL $collector
wait $collector 2>/dev/null
: >killed
for _ in $(seq 600); do [ -e end ] && break; sleep 0.1; done
grep -q whole end 2>/dev/null || fail "the program did not end as it should"
run check.out check.err "$TW" check r.tw
status=$?
[ $status -lt 128 ] || fail "check: status $status"
grep -qi 'incomplete' check.out check.err || fail "check does not say that the recording is incomplete"
