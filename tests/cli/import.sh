# import lackey: the recording gives back the trace line by line, is whole, and has the trace's profile; many chunks, many fragments.
# timeout: 240
. "$(dirname "$0")/../lib.sh"

# round TRACE: imports it and compares all that can be compared
round() {
	rm -rf i.tw i.tw.old
	"$TW" import lackey -q -o i.tw "$1" 2>err || fail "import $1: $(cat err)"
	[ ! -s err ] || fail "import $1 says: $(cat err)"
	check_good i.tw
	grep -E '^(I  | [LSM] )' "$1" >want
	"$TW" dump --lackey i.tw >got || fail "dump --lackey"
	cmp -s want got || {
		diff want got | head
		fail "$1: dump --lackey gives another trace"
	}
	"$TW" blocks -a -o t "$1" && "$TW" blocks -a -o i i.tw && "$TW" blocks -a -j 3 -o j i.tw || fail "blocks"
	for kind in SBB DBB; do
		cmp -s <(tail -n +2 t_${kind}_profile.txt) <(tail -n +2 i_${kind}_profile.txt) || fail "$1: another $kind profile"
		cmp -s i_${kind}_profile.txt j_${kind}_profile.txt || fail "$1: another $kind profile with -j 3"
	done
}

cat >t.lackey <<'END'
==77== Lackey, an example Valgrind tool
==77== Command: ./program with arguments
==77== 
I  00001000,4
 L 1ffefffe38,8
I  00001004,4
 S 00002000,4
 M 7ffffffffffff000,16
I  00001000,4
I  00001004,2
 L ffffffffffffff00,64
I  00001006,2
I  00001006,2
 S 0000a000,8
I  00001006,2
I  ffffffffff600000,9
==77== 
END
round t.lackey
"$TW" info --json i.tw | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["state"] == "complete" and d["instructions"] == 8 and d["refs"] == 5 and d["reads"] == 3 and d["writes"] == 3, d
assert d["program"] == "./program" and "exit_status" not in d, d
' || fail "info"
"$TW" report i.tw | grep -q '^./program with arguments$' || fail "the command is not that of the trace"
[ "$("$TW" dump --blocks i.tw | head -n 1)" = "0 1000 2 unknown" ] || fail "dump --blocks: $("$TW" dump --blocks i.tw | head -n 1)"
one_sentence "$TW" dump --order i.tw
says 'no times'

# A recording is where it should be, and one that stood there is kept.
cp t.lackey t.trace && gzip -c t.trace >t.trace.gz
"$TW" import lackey t.trace.gz 2>err && [ -d t.tw ] && grep -q '^trackway: 8 instructions imported into t.tw$' err || fail "default name: $(cat err)"
"$TW" import lackey - <t.trace 2>err && check_good lackey.tw || fail "standard input: $(cat err)"
"$TW" import lackey t.trace 2>err && check_good t.tw.old || fail "the recording before is gone"

# References that no instruction made
{ echo ' L 00001000,4' && cat t.lackey && yes ' L 00001000,4' | head -n 1000; } >orphans
"$TW" import lackey -o o.tw orphans 2>err && check_good o.tw && grep -q 'left out 745 references' err || fail "orphans: $(cat err)"

# 70,000 fragments need more numbers than a tag has bits; several chunks
python3 - >big.lackey <<'END'
import random
random.seed(1)
for r in range(3):
    for i in range(70000):
        a = 0x400000 + 32 * (i if r % 2 else i * 7919 % 70000)
        print("I  %08x,5\n S %08x,8" % (a, random.randrange(1 << 40)))
        if random.random() < 0.02:
            print(" L %08x,4" % a)
        if i % 3:
            print("I  %08x,3\n L %08x,8" % (a + 5, 8 * i))
END
round big.lackey
[ "$("$TW" info --json i.tw | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["fragments"] > 70000 and d["chunks"] > 2)')" = True ] || fail "not as big as meant: $("$TW" info i.tw)"

# Where the recording cannot be made, its directory is named, not the trace.
printf 'I  04016b80,3\n S 1ffe,8\n' >short
one_sentence "$TW" import lackey -o nodir/x.tw short
says 'nodir/x.tw: the directory cannot be made'
