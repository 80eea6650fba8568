# Too little memory for recording (a memory cgroup): the kernel kills the program or the collector. Who is left goes on to its normal end, and what was
# recorded till then replays; where nothing was, check says so.
. "$(dirname "$0")/../lib.sh"
group=
for base in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	[ -e $base/memory.limit_in_bytes ] && limit=memory.limit_in_bytes || limit=memory.max
	mkdir $base/tw.$$ 2>/dev/null || continue
	group=$base/tw.$$
	CLEANUP+=("for _ in \$(seq 100); do rmdir $group 2>/dev/null && break; sleep 0.1; done") # once the last process has left it
	[ -e $group/$limit ] && break
	group=
done
[ -n "$group" ] || skip 'no memory cgroup can be made here'
make_data data 4000000
native gzip -9 -n -c data
for megabytes in 2 8 20 60; do
	echo $((megabytes << 20)) >"$group/$limit" || skip 'the memory cgroup takes no limit'
	rm -rf r.tw r.tw.old out
	# a shell that joins the group and becomes the recorder; the output is written by one outside
	timeout 60 bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' join "$group" "$TW" record -q -o r.tw -- gzip -9 -n -c data 2>err </dev/null | cat >out
	status=${PIPESTATUS[0]}
	case $status in
	0) cmp -s out native.out || fail "$megabytes MB: the program's output changed" ;;
	137) ;; # one of the two was killed
	125) grep -q '^trackway record: .*memory' err || fail "$megabytes MB: $(cat err)" ;;
	*) fail "$megabytes MB: status $status: $(cat err)" ;;
	esac
	for _ in $(seq 100); do [ -s "$group/cgroup.procs" ] || break; sleep 0.1; done
	[ -s "$group/cgroup.procs" ] && fail "$megabytes MB: processes are left"
	echo "$megabytes MB: status $status, $(cmp -s out native.out && echo whole || echo 'not whole')"
	[ -e r.tw/header ] || continue
	"$TW" check r.tw >check.out 2>&1 || grep -q 'nothing is in it' check.out || fail "$megabytes MB: $(cat check.out)"
done
[ "$status" = 0 ] || echo 'even the last was too little'
exit 0
