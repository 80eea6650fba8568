# Very many short programs, one after the other: their descriptors do not pile up in the recorder, and none is lost.
. "$(dirname "$0")/../lib.sh"
cat >many.sh <<'EOF'
memory() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$PPID/status"; } # of the recorder
for i in $(seq "$1"); do
	/bin/echo "$i" >last
	[ "$i" = "$2" ] && memory >before
done
memory >after
cat last
EOF

# flat PROGRAMS FROM OPTION...: FROM programs on, memory does not grow by what programs would leave (2.5 MB each). It does grow by buffers, jobs and the
# allocator's arenas where the recorder falls behind, and by the encoder's machine code, which is counted twice and ends at 64 MB: on a busy machine 18 MB for
# 60 programs were seen, 6 MB for each 250 later on. A third of what programs would leave is between the two.
flat() {
	RECORD_OPTIONS=("${@:3}")
	same_as_native sh many.sh "$1" "$2"
	check_good
	asan || [ "$(("$(cat after)" - "$(cat before)"))" -lt $((($1 - $2) * 800)) ] || fail "$*: $(cat before) kB after $2 programs, $(cat after) kB after $1"
}

flat 100 40
programs=$("$TW" info recording.tw | grep -c ' /bin/echo ') || fail "info: no programs"
[ "$programs" = 100 ] || fail "$programs programs in the recording"
"$TW" report recording.tw >report.out || fail "report: status $?"
flat 50 20 -f dep06
flat 60 20 --sink=count
verify_clean sh many.sh 15 1
