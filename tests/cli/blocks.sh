# blocks: hand-made address streams for each way in which blocks come to be split, with the profiles they must give written out.
. "$(dirname "$0")/../lib.sh"

# Addresses, hexadecimal, of 4-byte instructions; ADDRESS/LENGTH for another length.
trace() {
	local a
	for a; do
		case $a in
		*/*) echo "I  $(printf %08x $((0x${a%/*}))),${a#*/}" ;;
		*) echo "I  $(printf %08x $((0x$a))),4" ;;
		esac
	done
}

# repeat N WORD...: the words N times
repeat() {
	local i n=$1
	shift
	for ((i = 0; i < n; i++)); do echo "$@"; done
}

rows() { grep -v '^#' "$1" | sed 's/^ *//; s/ *$//; s/  */ /g'; }

# expect NAME KIND [OPTION...] <rows: the profile of the stream in ./t
expect() {
	local name=$1 kind=$2
	shift 2
	"$TW" blocks "$@" -o p t || fail "$name: blocks"
	cat >want
	rows "p_${kind}_profile.txt" >got
	cmp -s want got || {
		diff want got
		fail "$name: $kind profile"
	}
}

trace 1000 1004 1008 >t
expect straight SBB <<'END'
0 1000 1008 3 1 NB
END
expect straight DBB <<'END'
0 1000 1008 3 1 NB
END

trace 1000 1004 1008 1000 1004 1008 1000 1004 1008 100c >t
for kind in SBB DBB; do
	expect loop $kind <<'END'
0 1000 1008 3 3 CB 0:2 1:1(ft)
1 100c 100c 1 1 NB
END
done

# A jump into the middle of a block: the static one is split; the dynamic ones overlap.
trace 1000 1004 1008 1004 1008 100c >t
expect "target in the middle" SBB <<'END'
0 1000 1000 1 1 NB 1:1(ft)
1 1004 1008 2 2 CB 1:1 2:1(ft)
2 100c 100c 1 1 NB
END
expect "target in the middle" DBB <<'END'
0 1000 1008 3 1 UB 1:1
1 1004 1008 2 1 NB 2:1(ft)
2 100c 100c 1 1 NB
END

# 1004 turns out to be a jump when it has been run through three times: those count as if it had been known.
trace 1000 1004 1008 100c 1000 1004 1008 100c 1000 1004 1008 100c 1000 1004 2000 >t
for kind in SBB DBB; do
	expect "a jump found late" $kind <<'END'
0 1000 1004 2 4 CB 1:3(ft) 2:1
1 1008 100c 2 3 UB 0:3
2 2000 2000 1 1 NB
END
done

# The same in a block that others overlap: all that hold the jump are split, each with its own counts; edges of the tail are added up.
trace 1000 1004 1008 100c 1004 1008 100c 1000 1004 1008 100c 2000 1004 1008 3000 >t
expect "a jump found late in overlapping blocks" SBB <<'END'
0 1000 1000 1 2 NB 1:2(ft)
1 1004 1008 2 4 CB 2:3(ft) 4:1
2 100c 100c 1 3 IJ 0:1 1:1 3:1
3 2000 2000 1 1 UB 1:1
4 3000 3000 1 1 NB
END
expect "a jump found late in overlapping blocks" DBB <<'END'
0 1000 1008 3 2 NB 2:2(ft)
1 1004 1008 2 2 CB 2:1(ft) 4:1
2 100c 100c 1 3 IJ 0:1 1:1 3:1
3 2000 2000 1 1 UB 1:1
4 3000 3000 1 1 NB
END

# An instruction that follows itself is a jump to itself, as Lackey prints repeated string instructions.
trace 1000 1004/2 1004/2 1004/2 1006 >t
for kind in SBB DBB; do
	[ $kind = SBB ] && first='0 1000 1000 1 1 NB 1:1(ft)' second='1 1004 1004 1 3 CB 1:2 2:1(ft)'
	[ $kind = DBB ] && first='0 1000 1004 2 1 UB 1:1' second='1 1004 1004 1 2 CB 1:1 2:1(ft)'
	expect "repeated" $kind <<END
$first
$second
2 1006 1006 1 1 NB
END
done

# Two instructions that share bytes (a jump over a lock prefix) and run into the same one.
trace 1000 1004/5 1009 2000 1005/4 1009 2000 >t
expect overlapping SBB <<'END'
0 1000 1004 2 1 NB 2:1(ft)
1 1005 1005 1 1 NB 2:1(ft)
2 1009 1009 1 2 UB 3:2
3 2000 2000 1 2 UB 1:1
END

# Code that changes: another length at the same address is another instruction.
trace 1000 1004/2 2000 1000 1004/3 2000 >t
expect "changed code" SBB <<'END'
0 1000 1000 1 2 CB 1:1(ft) 2:1
1 1004 1004 1 1 UB 3:1
2 1004 1004 1 1 UB 3:1
3 2000 2000 1 2 UB 0:1
END

# The stream ends in the middle of a block: it counts, but leads nowhere.
trace 1000 1004 1008 1000 1004 1008 1000 1004 >t
expect "cut" SBB <<'END'
0 1000 1008 3 3 UB 0:2
END

# All four endings; edges of IJ blocks below 10 % are left out unless asked for.
# shellcheck disable=SC2046
trace $(repeat 90 1000 2000) $(repeat 8 1000 3000) 1000 4000 1000 1004 5000 1000 2000 >t
ij='0 1000 1000 1 101 IJ 2:91' more=' 3:8' all=' 1:1(ft) 4:1'
rest='1 1004 1004 1 1 UB 5:1
2 2000 2000 1 91 UB 0:90
3 3000 3000 1 8 UB 0:8
4 4000 4000 1 1 UB 0:1
5 5000 5000 1 1 UB 0:1'
for kind in SBB DBB; do
	expect "IJ" $kind <<<"$ij
$rest"
	expect "IJ --threshold 5" $kind --threshold 5 <<<"$ij$more
$rest"
	expect "IJ -a" $kind -a <<<"$ij$more$all
$rest"
done

# The header explains every column, and what was left out.
"$TW" blocks -o p t && for word in id first last insns executions ending edges NB UB CB IJ '(ft)' '10 %'; do
	grep '^#' p_SBB_profile.txt | grep -qF -- "$word" || fail "the header does not explain $word"
done
"$TW" blocks -a -o p t && ! grep -q 'left out' p_SBB_profile.txt || fail "-a says that something is left out"

# JSON and CSV say the same
"$TW" blocks -a --json t >t.json && "$TW" blocks -a --csv t >t.csv && "$TW" blocks -a -o p t || fail "--json or --csv"
python3 - <<'END' || fail "JSON, CSV and text differ"
import csv, json
j = json.load(open("t.json"))
assert j["instructions"] == 203, j["instructions"]
text = {}
for kind, name in ("static", "p_SBB_profile.txt"), ("dynamic", "p_DBB_profile.txt"):
    text[kind] = [l.split() for l in open(name) if not l.startswith("#")]
for kind in "static", "dynamic":
    rows = [[str(b["id"]), "%x" % b["first"], "%x" % b["last"], str(b["instructions"]), str(b["executions"]), b["ending"]] +
            ["%d:%d%s" % (e["to"], e["count"], "(ft)" if e["fall_through"] else "") for e in b["edges"]] for b in j[kind]]
    assert rows == text[kind], (kind, rows, text[kind])
    rows = [[r["id"], r["first"], r["last"], r["instructions"], r["executions"], r["ending"]] + r["edges"].split()
            for r in csv.DictReader(open("t.csv")) if r["kind"] == kind]
    assert rows == text[kind], (kind, rows, text[kind])
END

# Likely paths: 1000-1004 goes on to 2000 in 9 of 10 cases, that to 3000 in 8 of 9, that always to 1000.
# shellcheck disable=SC2046
trace $(repeat 8 1000 1004 2000 3000) 1000 1004 2000 2004 1000 1004 1008 >t
"$TW" blocks --json t | python3 -c '
import json, sys
p = json.load(sys.stdin)["superblocks"]
assert p[0]["blocks"] == [0, 2, 4] and p[0]["loops"] and p[0]["entries"] == 10 and p[0]["instructions"] == 4, p
assert abs(p[0]["chance_to_end"] - 0.8) < 1e-5 and abs(p[0]["expected_instructions"] - (2 + 0.9 + 0.8)) < 1e-5, p
' || fail "likely paths"
"$TW" blocks --superblocks --edge 95 t | grep -q ' 0 2' && fail "--edge does not count"
"$TW" blocks --superblocks --path 85 t | grep -q ' 0 2$' || fail "--path does not count: $("$TW" blocks --superblocks --path 85 t)"
exit 0
