# Random sequences of instructions, each run over and over (tests/oracle/sequences.c): under every instrumentor they do what they do natively, and the
# references of formats `dep` and `call` are the same. SEEDS: which ones; COUNT: batches of 32 sequences for each; TURNS: how often they become superblocks.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need_cpu avx2
need_command setarch objdump
SEEDS=${SEEDS:-$(seq "$(full 20 1)")}
COUNT=${COUNT:-$(full 500 20)}
TURNS=${TURNS:-40}
HERE=$ROOT/tests/oracle
# the addresses of code and memory are the same in every run
"$CC" -O2 -no-pie -o sequences "$HERE/sequences.c" "$HERE/sequence.c" "$HERE/sequence_run.S" -lZydis || fail "sequences.c does not compile"

# traced OUT ARGUMENT...: sequences ARGUMENT... under Trackway, with $FORMAT
traced() {
	local out=$1
	shift
	local fill=0 # only where superblocks are to be made
	[[ $FORMAT =~ ^dep(06)?\ .*hot ]] && fill=2100
	rm -rf r.tw
	# shellcheck disable=SC2086 # options
	"$TW" record -q --sink=count -o r.tw -f $FORMAT ./sequences -f $fill "$@" >"$out" 2>traced.err || {
		local status=$?
		head -n 5 traced.err
		fail "sequences $*, format $FORMAT: exit status $status"
	}
}

# explain SEED OPTION...: finds the first sequence that went wrong, and prints it
explain() {
	local batch number address at code
	batch=$(diff native.out traced.out | sed -n 's/^< batch \([0-9]*\):.*/\1/p' | head -n 1)
	./sequences -s "$1" -n $((batch + 1)) "${@:2}" -v -d code.bin >native.all
	traced traced.all -s "$1" -n $((batch + 1)) "${@:2}" -v
	read -r _ number _ _ address < <(diff native.all traced.all | sed -n 's/^< \([0-9].*\)/\1/p')
	[ -n "${number:-}" ] || fail "seed $1, batch $batch, format $FORMAT: differs, but not again when looked at closely"
	code=$(nm sequences | awk '$3 == "code" { print "0x" $1 }')
	at=$((0x$address - code))
	objdump -D -b binary -m i386:x86-64 -M intel --adjust-vma="$code" --start-address=$((code + at)) --stop-address=$((code + at + 2048)) code.bin |
		grep -vw int3 | tail -n +8
	fail "seed $1, batch $batch, sequence $number, format $FORMAT: not as natively (its functions are at $code; -b $batch -n 1 makes it alone)"
}

for seed in $SEEDS; do
	./sequences -s "$seed" -n "$COUNT" -r "$TURNS" >native.out || fail "seed $seed: fails natively"
	for FORMAT in "dep --hot=1" "dep --hot=1 --versions=1" "dep06 --hot=1"; do
		traced traced.out -s "$seed" -n "$COUNT" -r "$TURNS"
		cmp -s native.out traced.out || explain "$seed" -r "$TURNS"
	done
	# without superblocks: fewer turns
	./sequences -s "$seed" -n "$COUNT" -r 6 >native.out
	for FORMAT in none dep-c mem_addr bb_pc+mem_addr dep06-c cf_bit "dep-c --order"; do
		traced traced.out -s "$seed" -n "$COUNT" -r 6
		cmp -s native.out traced.out || explain "$seed" -r 6
	done
	# slow: less of it
	./sequences -s "$seed" -n 2 -r 5 >native.out
	for FORMAT in call "dep --verify --hot=1" "dep06 --verify --hot=1"; do
		traced traced.out -s "$seed" -n 2 -r 5
		cmp -s native.out traced.out || fail "seed $seed, format $FORMAT: not as natively"
	done

	# interrupted all the time
	./sequences -s "$seed" -n "$COUNT" -r 3 >native.out
	for FORMAT in none "dep --hot=1" "dep06 --hot=1" cf_bit; do
		traced traced.out -s "$seed" -n "$COUNT" -r 3 -t
		cmp -s native.out traced.out || fail "seed $seed, format $FORMAT, interrupted: not as natively"
	done

	# references: a few sequences, loaded and not made, so that code does not change
	./sequences -s "$seed" -b "$COUNT" -n 1 -c 16 -r 1 -w image >/dev/null
	for format in "dep --hot=1" call "dep06 --hot=1"; do
		name=${format%% *}
		rm -rf "$name.tw"
		# shellcheck disable=SC2086
		setarch -R "$TW" record -q -o "$name.tw" -f $format ./sequences -l image -r 14 >"$name.out" || fail "seed $seed, image, format $format: fails"
		"$TW" dump --refs "$name.tw" >"$name.all" || fail "dump of format $format"
		grep -E '^[0-9]+ [0-9a-f]{6} ' "$name.all" >"$name.refs" # the program's own: where libraries are mapped depends on the format
	done
	for format in call dep06; do
		cmp -s dep.out $format.out || fail "seed $seed, image: formats dep and $format differ in what the program does"
		cmp -s dep.refs $format.refs || {
			diff dep.refs $format.refs | head -n 10
			fail "seed $seed, image: references of format $format differ"
		}
	done
done
