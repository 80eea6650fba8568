# sql: the questions of docs/sql.md have answers, tables hold what other commands print, comparisons that tables take over give what SQLite's own give, and what is wrong
# is said in one sentence.
. "$(dirname "$0")/../lib.sh"

# The document's program and all its questions.
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$ROOT/docs/sql.md" >table.c
gcc -g -O1 -fno-inline -no-pie -pthread -o table table.c || fail "the program of docs/sql.md does not compile"
"$TW" record -q -o table.tw ./table >/dev/null
[ -d table.tw ] || fail "record"
python3 - "$TW" "$ROOT/docs/sql.md" <<'END' || fail "a question of docs/sql.md"
import json, re, subprocess, sys
text = open(sys.argv[2]).read()
questions = re.findall(r"### (.*?)\n\n```sql\n(.*?)```", text, re.S)
assert len(questions) >= 20, len(questions)
statements = [q for _, q in questions]
for title, query in questions:
    r = subprocess.run([sys.argv[1], "sql", "--json", "table.tw", query], capture_output=True, text=True)
    assert r.returncode == 0 and not r.stderr, (title, r.stderr)
    assert len(json.loads(r.stdout)) > 0, (title, "no rows")
END

ask() { "$TW" sql --csv table.tw "$@" | tail -n +2; }

# One row for each line of dump.
"$TW" dump --refs table.tw >refs
ask "select thread, printf('%x', pc), type, printf('%x', addr), size from refs" | tr , ' ' | cmp -s - refs || fail "refs are not what dump prints"
"$TW" dump --blocks table.tw | awk '$3 > 0 { print $1, $2, $3 }' >blocks
ask "select thread, printf('%x', pc), insns from block_runs" | tr , ' ' | cmp -s - blocks || fail "block_runs are not what dump prints"
[ "$(ask 'select count(*) from refs')" = "$(wc -l <refs)" ] || fail "count(*) of refs"
[ "$(ask 'select count(*) from block_runs')" = "$(wc -l <blocks)" ] || fail "count(*) of block_runs"
[ "$(ask 'select sum(insns) from block_runs')" = "$(ask 'select sum(insns) from functions')" ] || fail "block_runs and functions differ"
[ "$(ask 'select insns from threads where thread = 1')" = "$(ask 'select sum(insns) from block_runs where thread = 1')" ] || fail "threads and block_runs differ"

# What the tables take over and what SQLite compares itself (unary plus) is the same; so is a count that is not of whole rows.
for where in 'thread = 1' 'insn >= 5000 and insn < 5100' "type = 'M'" 'size > 8' 'thread = 0 and insn <= 77' "addr > 0x400000 and addr < 0x500000 and type = 'W'" 'insn > 1e3' "pc = '4'" 'thread = -1' 'insn between 10 and 5' 'addr is null'; do
	plain=$(sed -E 's/\b(thread|insn|type|size|addr|pc)\b/+\1/g' <<<"$where")
	[ "$(ask "select count(*), sum(insn), min(pc) from refs where $where")" = "$(ask "select count(*), sum(insn), min(pc) from refs where $plain")" ] || fail "where $where"
	[ "$(ask "select count(*) from refs where $where")" = "$(ask "select count(*) from refs where $plain")" ] || fail "count(*) where $where"
done
[ "$(ask 'select count(*) from (select 1 from refs limit 7)')" = 7 ] || fail "a subquery is counted as the table"
[ "$(ask 'select (select count(*) from threads) from refs limit 3' | wc -l)" = 3 ] || fail "a count in a column ate the rows"
[ "$(ask 'select count(*) over () from threads limit 1')" = 2 ] || fail "a window function"
[ "$(ask 'select 1 from block_runs limit 5' | wc -l)" = 5 ] || fail "a limit"

# The references of a string instruction are those of its block, however many batches they take.
cc_program string <<'END'
static char memory[700000];
int main(void)
{
	char *to = memory;
	unsigned long n = sizeof memory;
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(1) : "memory");
	return 0;
}
END
"$TW" record -q -o string.tw ./string || fail "record ./string"
[ "$("$TW" sql --csv string.tw 'select count(*) from block_runs where refs between 700000 and 700100' | tail -n 1)" = 1 ] || fail "the references of a string instruction"
[ "$("$TW" sql --csv string.tw 'select sum(refs) - (select count(*) from refs) from block_runs' | tail -n 1)" = 0 ] || fail "references of block_runs"

# Chunks are chosen by thread.
"$TW" sql --explain table.tw 'select max(addr) from refs where thread = 1' 2>err >/dev/null || fail "--explain"
read -r _ of_one _ passed _ < <(tr -d , <err)
[ "$of_one" -ge 1 ] && [ "$passed" -ge 1 ] || fail "thread = 1 reads all chunks: $(cat err)"

# Statements from standard input, and the forms.
printf '.mode csv\nselect 1,\n\n "a""b";\n.tables\n' | "$TW" sql table.tw >out || fail "statements from standard input"
grep -q '^1,"a""b"$' out && grep -q '^modules ' out || fail "statements from standard input: $(cat out)"
"$TW" sql --json table.tw "select 1 as \"x\"\"y\", null as n, 2.5 as r, 'a\"b' as t" | python3 -c '
import json, sys
assert json.load(sys.stdin) == [{"x\"y": 1, "n": None, "r": 2.5, "t": "a\"b"}]' || fail "--json"

# A database of its own.
"$TW" sql table.tw '.export table.sqlite' || fail ".export"
[ "$(sqlite3 table.sqlite 'select count(*) from branches')" = "$(ask 'select count(*) from branches')" ] || fail "the exported database"

complains() { # STATUS WORDS COMMAND...
	local wanted=$1 words=$2
	shift 2
	"$@" >out 2>err
	[ $? -eq "$wanted" ] && grep -q "$words" err || fail "$*: $(cat err)"
}
complains 1 'syntax error' "$TW" sql table.tw 'selec 1'
grep -q '^  \^$' err || fail "the place of the error is not shown: $(cat err)"
complains 1 'no such table: ref' "$TW" sql table.tw 'select * from ref'
complains 1 'is there already' "$TW" sql table.tw '.export table.sqlite'
complains 1 'no command' "$TW" sql table.tw '.nothing'
complains 2 'recording is required' "$TW" sql
"$TW" record -q -f none -o none.tw true || fail "record -f none"
complains 1 'refs: .*holds nothing' "$TW" sql none.tw 'select * from refs'

# A chunk that is damaged is named, and the others are read.
chunks=$(ls table.tw/thread* | head -n 1)
size=$(stat -c %s "$chunks")
printf '\377\377\377\377' | dd of="$chunks" bs=1 seek=$((size / 2)) conv=notrunc status=none
complains 1 'chunk' "$TW" sql --csv table.tw 'select count(*) from refs'
[ "$(tail -n 1 out)" -gt 0 ] && [ "$(tail -n 1 out)" -lt "$(wc -l <refs)" ] || fail "a damaged chunk: $(cat out)"
