# Random sequences of instructions, each run several times (tests/oracle/sequences.c): under every instrumentor they do what they do natively, and the
# references of formats `dep`, `dep06` and `call` are the same. SEEDS: which ones; COUNT: batches of 32 sequences for each; TURNS: how often they
# become superblocks. Very many: tests/oracle/mass.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need_cpu avx2
need_command objdump
need_fixed_addresses
SEEDS=${SEEDS:-$(seq "$(full 20 1)")}
COUNT=${COUNT:-$(full 500 10)}
TURNS=${TURNS:-40}
HERE=$ROOT/tests/oracle
# the addresses of code and memory are the same in every run
$CC -O2 -no-pie -o sequences "$HERE"/sequence{s,,_rare,_set}.c "$HERE/sequence_run.S" -lZydis || fail "sequences.c does not compile"

# traced OUT ARGUMENT...: sequences ARGUMENT... under Trackway, with $FORMAT, stored or counted in turn
SINK=file
traced() {
	local out=$1
	shift
	rm -rf r.tw
	[ $SINK = file ] && SINK=count || SINK=file
	# shellcheck disable=SC2086 # options
	"$TW" record -q --sink=$SINK -o r.tw -f $FORMAT ./sequences "$@" >"$out" 2>traced.err || {
		local status=$?
		head -n 5 traced.err
		fail "sequences $*, format $FORMAT, --sink=$SINK: exit status $status"
	}
}

# explain OPTION...: finds the first sequence that went wrong, and prints it
explain() {
	local batch number address bytes code region=low_code
	batch=$(diff native.out traced.out | sed -n 's/^< batch \([0-9]*\):.*/\1/p' | head -n 1)
	./sequences "$@" -n $((batch + 1)) -v -d code.bin >native.all
	traced traced.all "$@" -n $((batch + 1)) -v
	read -r _ _ number _ _ address bytes < <(diff native.all traced.all | grep '^< [0-9]')
	[ -n "${number:-}" ] || fail "sequences $*, batch $batch, format $FORMAT: differs, but not again when looked at closely"
	code=$(nm sequences | awk -v r=$region '$3 == r { print "0x" $1 }')
	[ $((0x$address)) -gt $((1 << 32)) ] && code=0x5a0000000000
	objdump -D -b binary -m i386:x86-64 -M intel --adjust-vma="$code" --start-address=$((0x$address)) --stop-address=$((0x$address + bytes)) code.bin |
		tail -n +8
	fail "sequences $*, batch $batch, sequence $number, format $FORMAT: not as natively (-b $batch -n 1 runs its batch alone)"
}

# same OPTION...: sequences with these options does under $FORMAT what native.out says
same() {
	traced traced.out "$@"
	cmp -s native.out traced.out || explain "$@"
}

for seed in $SEEDS; do
	# each batch where the last one was, with superblocks
	made=(-s "$seed" -n "$COUNT" -r "$TURNS")
	./sequences "${made[@]}" -f 0 >native.out || fail "seed $seed: fails natively"
	for FORMAT in "dep --hot=1" "dep --hot=1 --versions=1" "dep06 --hot=1"; do
		same "${made[@]}"
	done
	made=(-s "$seed" -n "$COUNT" -r 2 -f 0)
	./sequences "${made[@]}" >native.out
	for FORMAT in none "dep-c --order" bb_pc+mem_addr cf_bit; do
		same "${made[@]}"
	done

	# loaded: side by side; far above 4 GB, and changing itself
	for kind in "" "-h -m"; do
		loaded=(-l image -n "$COUNT" -r 1 -f 0)
		# shellcheck disable=SC2086 # or nothing
		./sequences -s "$seed" -n "$COUNT" $kind -w image >/dev/null || fail "seed $seed: cannot be made"
		./sequences "${loaded[@]}" >native.out || fail "seed $seed $kind: fails natively"
		for FORMAT in none dep dep-c dep06 dep06-c cf_bit bb_pc mem_addr bb_pc+mem_addr call "dep --verify" "dep06 --verify"; do
			same "${loaded[@]}"
		done

		# interrupted all the time
		for FORMAT in none "dep --hot=1" "dep06 --hot=1" cf_bit; do
			traced traced.out "${loaded[@]}" -t
			cmp -s native.out traced.out || fail "seed $seed $kind, format $FORMAT, interrupted: not as natively"
		done
	done

	# references: a few sequences, which do not change
	./sequences -s "$seed" -b "$COUNT" -n 1 -c 16 -w image >/dev/null
	for format in "dep --hot=1" call "dep06 --hot=1"; do
		name=${format%% *}
		rm -rf "$name.tw"
		# shellcheck disable=SC2086
		setarch -R "$TW" record -q -o "$name.tw" -f $format ./sequences -l image -r 14 >"$name.out" || fail "seed $seed, image, format $format: fails"
		references "$name.tw" "$name.all"
		grep -E '^[0-9]+ [0-9a-f]{6,7} ' "$name.all" >"$name.refs" # the program's own: where libraries are mapped depends on the format
	done
	for format in call dep06; do
		cmp -s dep.out $format.out || fail "seed $seed, image: formats dep and $format differ in what the program does"
		cmp -s dep.refs $format.refs || {
			diff dep.refs $format.refs | head -n 10
			fail "seed $seed, image: references of format $format differ"
		}
	done
done
