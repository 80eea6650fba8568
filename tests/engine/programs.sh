# Very many short programs, one after the other: their descriptors do not pile up in the recorder, and none is lost.
. "$(dirname "$0")/../lib.sh"
cat >many.sh <<'EOF'
memory() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$PPID/status"; } # of the recorder
: >memory
for i in $(seq "$1"); do
	/bin/echo "$i" >last
	[ $((i % $2)) = 0 ] && memory >>memory
done
cat last
EOF

# flat PROGRAMS STEP OPTION...: memory does not grow by what programs would leave (2.5 MB each). It does grow by buffers, jobs and the allocator's arenas where
# the recorder falls behind, and by the encoder's machine code, which is counted twice and ends at 64 MB: once up to 39 MB for 30 programs on a busy machine, not
# over and over. What programs left would be there after each STEP of them, so one step with less than a third of it is enough.
flat() {
	RECORD_OPTIONS=("${@:3}")
	same_as_native sh many.sh "$1" "$2"
	check_good
	asan || awk -v most=$(($2 * 800)) 'NR > 1 && $1 - last < most { flat = 1 } { last = $1 } END { exit !flat }' memory || fail "$*: kB after each $2 programs:" $(cat memory)
}

most=$(full 100 75) fewer=$(full 60 45)
flat "$most" 25
programs=$("$TW" info recording.tw | grep -c ' /bin/echo ') || fail "info: no programs"
[ "$programs" = "$most" ] || fail "$programs programs in the recording"
"$TW" report recording.tw >report.out || fail "report: status $?"
flat "$fewer" 15 -f dep06
flat "$fewer" 15 --sink=count
verify_clean sh many.sh 15 1
