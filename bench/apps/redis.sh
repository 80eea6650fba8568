# Redis under redis-benchmark, with both kinds of persistence on; after a restart the data is there.
. "$(dirname "$0")/lib.sh"
need redis-server redis-benchmark redis-cli
cli() { redis-cli -p "$PORT" "$@"; }
for mode in $MODES; do
	[ "$mode" = verify ] && continue
	PORT=$((PORT + 1))
	rm -rf data && mkdir data
	start() {
		prefix "$mode"
		"${PREFIX[@]}" redis-server --port "$PORT" --dir "$WORK/data" --appendonly yes --appendfsync everysec --save 1 100 \
			>server.out 2>server.err &
		pid=$!
		CLEANUP+=("kill -KILL $pid 2>/dev/null")
		wait_for 30 cli ping
	}
	start || { result "$mode" bad "does not come up: $(tail -n 1 server.err)"; continue; }
	redis-benchmark -p "$PORT" -q -n 4000 -c 50 -r 10000 -t set,get,incr,lpush,lrange_100,mset >warm.out 2>&1
	redis-benchmark -p "$PORT" --csv -n 30000 -c 50 -r 10000 -t set,get >bench.csv 2>&1
	cli set kept "$mode" >/dev/null
	keys=$(cli dbsize)
	cli bgsave >/dev/null
	wait_for 30 sh -c "redis-cli -p $PORT info persistence | grep -q rdb_bgsave_in_progress:0"
	cli bgrewriteaof >/dev/null
	wait_for 30 sh -c "redis-cli -p $PORT info persistence | grep -q aof_rewrite_in_progress:0"
	cli info persistence >persistence
	cli shutdown >/dev/null 2>&1
	wait_for 30 sh -c "! kill -0 $pid" || kill -KILL $pid
	wait $pid
	status=$?
	if [ $status -ne 0 ] || complains server.err || ! grep -q 'rdb_last_bgsave_status:ok' persistence || ! grep -q 'aof_last_bgrewrite_status:ok' persistence; then
		result "$mode" bad "status $status: $(tail -n 1 server.err) $(grep status persistence | tr '\r\n' '  ')"
		continue
	fi
	start && found="$(cli get kept) $(cli dbsize)"
	cli shutdown nosave >/dev/null 2>&1
	wait $pid
	if [ "$found" != "$mode $keys" ]; then
		result "$mode" bad "after a restart: $found, not $mode $keys"
	else
		result "$mode" ok "$(awk -F '","' '{ gsub("\"", "") } /SET|GET/ { split($0, f, ","); s += f[2] } END { print s }' bench.csv)"
	fi
done
finish
