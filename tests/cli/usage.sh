# What is asked wrongly: one sentence that says what there is. Help fits 80 columns, output that goes nowhere is an error.
. "$(dirname "$0")/../lib.sh"
make_data data 20000
"$TW" record -q -o r.tw gzip -c data >/dev/null || fail "record"

commands="record info report import blocks paths sql dump check pack bundle learn coverage kept cc"
for c in '' $commands analyze serve top keep stop; do
	"$TW" $c --help >help || fail "$c --help: status $?"
	[ -s help ] || fail "$c --help prints nothing"
	! grep -nE '^.{81}' help || fail "$c --help: more than 80 columns"
done
for c in $commands; do
	"$TW" help $c | cmp -s - <("$TW" $c --help) || fail "help $c is not $c --help"
	[ "$c" = import ] || {
		one_sentence "$TW" $c --nonsense r.tw
		says "no option --nonsense; there are .*--help"
	}
done
wrong() { # wrong PATTERN ARGUMENT...
	local pattern=$1
	shift
	one_sentence "$TW" "$@"
	says "$pattern"
}
wrong 'exactly one recording' analyze mix
wrong 'no analyzer is named' analyze
wrong 'the analyzer comes first' analyze --json mix r.tw
wrong 'there is no analyzer of that name; there are .*footprint, .*mix' analyze nonsense r.tw
wrong 'no option --nonsense; there are .*--window' analyze footprint --nonsense r.tw
wrong "--window wants a number, not 'abc'" analyze footprint --window abc r.tw
wrong "--from wants a count of instructions .* not 'main'" analyze mix --from main r.tw
wrong "--range wants 0xADDRESS or" analyze mix --range 0x12q r.tw
wrong 'it is a file of the recording' analyze mix --output r.tw/header r.tw
wrong "names a variable 'no_such'" analyze mix --range no_such --output out r.tw
wrong 'its answer has no table .foo.; there are classes, opcodes, sizes, functions' analyze mix --csv=foo r.tw
wrong 'no option -x; there are -n, -j, --functions' report -x r.tw
wrong '--functions takes no argument' report --functions=3 r.tw
wrong '--thread wants an argument' dump r.tw --thread
wrong 'option -o wants an argument' import lackey x -o
wrong '--s is the beginning of several options' record --s=1 true
wrong "edge wants a percentage, not 'abc'" blocks --edge=abc r.tw
wrong 'wants a number from 1' check -j 0 r.tw
wrong 'exactly one recording' info r.tw r.tw
wrong '--thread is about what a thread did' dump --code --thread=0 r.tw
wrong 'the commands are record, info' recrod true
wrong "there is no option '--nonsense'" --nonsense
wrong "no such recording" info ''
wrong 'the name of a directory' record -o - true
wrong 'the name of a directory' import lackey -o - trace
wrong '--function is about a graph' blocks --function=main r.tw
wrong '--nodes is about a graph' blocks --nodes=3 --json r.tw
wrong '--module is about a profile' blocks --module=gzip r.tw
wrong '--interval is about vectors' blocks --interval=5 r.tw
wrong 'only one of the outputs' blocks --json --callgrind=- r.tw
wrong 'only one of the outputs' blocks --simpoint=- --callgrind=- r.tw
"$TW" dump -o - --count 5 r.tw | cmp -s - <("$TW" dump --count 5 r.tw) || fail "dump -o -"
"$TW" blocks --simpoint=vectors r.tw || fail "blocks --simpoint"
"$TW" blocks --simpoint=- r.tw | cmp -s - vectors || fail "blocks --simpoint=-"
[ ! -e - ] || fail "something wrote a file named -"

# Standard output that cannot be written, and a reader that leaves early.
for c in info report check 'blocks --json' 'dump --code' 'dump --refs' '--help'; do
	one_sentence bash -c '"$@" >/dev/full' full "$TW" $c r.tw
	says 'No space left'
	"$TW" $c r.tw 2>err | head -n 1 >/dev/null
	status=${PIPESTATUS[0]}
	[ "$status" = 0 ] || [ "$status" = 141 ] || fail "$c into head: status $status"
	[ ! -s err ] || fail "$c into head: $(cat err)"
done

# A recording of totals only.
"$TW" record -q --sink=count -o count.tw true || fail "record --sink=count"
for mode in --refs --blocks --lackey --code --raw --order; do
	wrong 'holds only totals' dump $mode count.tw
done

# A slash behind the name; a recording beside other things is not removed when it is to be replaced.
for i in 1 2; do
	"$TW" record -q -o slash.tw/ true || fail "record -o slash.tw/"
done
[ -d slash.tw.old ] || fail "slash.tw/ is not kept as slash.tw.old"
printf 'I  04016b80,3\n S 1ffe,8\n' >trace
for i in 1 2; do
	"$TW" import lackey -q -o imported.tw/ trace || fail "import -o imported.tw/"
done
: >slash.tw.old/thread-notes
wrong 'slash.tw.old cannot be replaced' record -o slash.tw true
check_good slash.tw.old
exit 0
