# PostgreSQL: initdb, the server, pgbench with 16 clients, a clean shutdown, a second start, amcheck. Runs as user postgres when started by root.
. "$(dirname "$0")/lib.sh"
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
PATH=$PATH:$bin
need initdb postgres pgbench psql
as=()
[ "$(id -u)" = 0 ] && as=(setpriv --reuid=postgres --regid=postgres --clear-groups --)
[ "$(id -u)" = 0 ] && chown postgres "$WORK"
sql() { psql -h "$WORK" -p "$PORT" -d postgres -U "${1}" -Atqc "$2" 2>&1; }
user=$([ "$(id -u)" = 0 ] && echo postgres || id -un)
server() {
	prefix "$mode"
	"${as[@]}" "${PREFIX[@]}" postgres -D "$WORK/data" -p "$PORT" -k "$WORK" -c listen_addresses= -c shared_buffers=64MB -c max_connections=40 \
		>server.out 2>server.err &
	pid=$!
	CLEANUP+=("kill -KILL $pid 2>/dev/null")
	wait_for 60 pg_isready -q -h "$WORK" -p "$PORT" -U "$user" -d postgres
}
shutdown() { # fast shutdown: SIGINT to the postmaster
	kill -INT "$(head -n 1 data/postmaster.pid)"
	wait_for 60 sh -c "! kill -0 $pid" || kill -KILL $pid
	wait $pid
}
# A backend whose client has just left may not have ended yet: the shutdown ends it, and it says so.
real_errors() { grep -vE 'starting up|due to administrator command' server.err; }
for mode in $MODES; do
	[ "$mode" = verify ] && continue
	PORT=$((PORT + 1))
	rm -rf data
	prefix "$mode"
	"${as[@]}" "${PREFIX[@]}" initdb -D "$WORK/data" -A trust --no-sync >initdb.out 2>initdb.err || {
		result "$mode" bad "initdb: $(tail -n 1 initdb.err)"
		continue
	}
	server || { result "$mode" bad "does not come up: $(tail -n 1 server.err)"; continue; }
	# as many branches as clients, as pgbench's manual has it: with fewer it measures who waits for whom
	pgbench -h "$WORK" -p "$PORT" -U "$user" -i -s 16 -q postgres >pgbench.init 2>&1 || { result "$mode" bad "pgbench -i: $(tail -n 1 pgbench.init)"; continue; }
	pgbench -n -h "$WORK" -p "$PORT" -U "$user" -c 16 -j 2 -T 3 postgres >warm.out 2>&1
	pgbench -n -h "$WORK" -p "$PORT" -U "$user" -c 16 -j 2 -T 6 postgres >pgbench.out 2>&1
	balance=$(sql "$user" 'select (select sum(abalance) from pgbench_accounts) = (select sum(bbalance) from pgbench_branches) and (select sum(tbalance) from pgbench_tellers) = (select sum(delta) from pgbench_history)')
	shutdown
	status=$?
	if [ $status -ne 0 ] || [ "$balance" != t ] || complains server.err || ! grep -q 'failed transactions: 0' pgbench.out || real_errors | grep -qE 'PANIC|FATAL|terminated by signal'; then
		result "$mode" bad "status $status, balanced: $balance, $(real_errors | grep -E 'PANIC|FATAL|signal|trackway' | head -n 1) $(grep failed pgbench.out)"
		continue
	fi
	server
	sql "$user" 'create extension amcheck' >amcheck.out
	sql "$user" "select count(*), string_agg(bt_index_check(c.oid, true)::text, '') from pg_class c join pg_am a on a.oid = c.relam where a.amname = 'btree' and c.relkind = 'i'" >>amcheck.out
	sql "$user" "select count(*) from pgbench_accounts a, lateral verify_heapam('pgbench_accounts') v where aid = 1" >>amcheck.out
	shutdown
	if grep -qi error amcheck.out || [ "$(tail -n 1 amcheck.out)" != 0 ]; then
		result "$mode" bad "amcheck: $(cat amcheck.out)"
	else
		result "$mode" ok "$(awk '/^tps/ { print $3 }' pgbench.out)"
	fi
done
finish
