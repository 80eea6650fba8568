# Programs of random instructions (tests/oracle/fuzz.c): recorded, they print what they print natively; the recording's references and
# instructions are the oracle's; and --verify is clean.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
need_cpu avx2
need_ptrace
STEP=$BUILD/tests/step
[ -x "$STEP" ] || make -s -C "$ROOT" BUILD="$BUILD" "$STEP" || fail "the oracle cannot be built"
$CC -O1 -o fuzz "$ROOT/tests/oracle/fuzz.c" -lZydis || fail "fuzz.c does not compile"

# where PC: the test that instruction belongs to, for the message
where() {
	nm program | grep ' insn' | sort | awk -v pc="$1" '{ sub(/^0*/, "", $1); if (length($1) < length(pc) || (length($1) == length(pc) && $1 <= pc)) l = $3 } END { print l }'
}

for seed in ${SEEDS:-$(seq "$(full 60 3)")}; do
	./fuzz "$seed" "$(full 1000 400)" >program.S
	$CC -nostdlib -static -no-pie -I"$ROOT/tests/programs" -o program program.S || fail "seed $seed does not assemble"
	same_as_native ./program
	"$STEP" -o oracle.refs -i oracle.insns ./program >/dev/null || fail "seed $seed: the oracle fails"
	references recording.tw made.refs
	cut -d ' ' -f 2- made.refs >found.refs
	cmp -s oracle.refs found.refs || {
		diff oracle.refs found.refs | head -n 10
		pc=$(diff oracle.refs found.refs | awk '/^[<>]/ { print $2; exit }')
		fail "seed $seed, $(where "$pc"), references differ: $(objdump -d -M intel --start-address=0x"$pc" program | grep -m1 "^ *$pc:")"
	}
	same_instructions oracle.insns recording.tw
	check_good
	verify_clean ./program
	"$TW" record -q --verify -f dep06 -o dep06.tw ./program >dep06.out || fail "seed $seed: --verify of format dep06"
done
