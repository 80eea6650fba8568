# Learning: processes begin with the translations of others of the same recording, which have told what is in them, and with those of earlier recordings whose facts the learn file has; what only a later one
# does is told all the same.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program steps -g -O1 <<'CODE'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) int one(int n) { return n * 3; }
__attribute__((noipa)) int two(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += i % 3 ? i : -i;
	return sum;
}
__attribute__((noipa)) int three(int n) { return n ^ 5; }
int main(int argc, char **argv)
{
	static int (*const way[])(int) = {one, two, three};
	int sum = 0;
	for (int i = 0; i < 30; i++)
		sum += way[atoi(argv[1 + i % (argc - 1)])](i % 20);
	printf("%d\n", sum);
	if (getenv("WAIT")) {
		fclose(fopen("begun", "w"));
		while (access("go", F_OK))
			usleep(5000);
	}
	return 0;
}
CODE
sleep 4.2 # what has just been written has no identity (engine/code/module.h)

# all_is_learned FILE OPTION...: of three processes, of which only the last does all, and of their own code every fact
all_is_learned() {
	local file=$1
	shift
	"$TW" record --learn="$file" "$@" sh -c './steps 0; ./steps 0 1; ./steps 0 1 2' >ours.out 2>ours.err || fail "record: $(cat ours.err)"
	cmp -s native.out ours.out || fail "other output than natively: $(cat ours.out)"
	"$TW" coverage --against whole.tw --json "$file" >all.json || fail "coverage"
	python3 - <<-'PYTHON' || fail "not all is learned ($*)"
		import json
		own = [r for r in json.load(open("all.json"))["functions"] if r["function"] in ("one", "two", "three", "main")]
		assert len(own) == 4 and sum(r["edges"] for r in own) > 10, own
		assert all(r["blocks"] == r["blocks_learned"] and r["edges"] == r["edges_learned"] for r in own), own
	PYTHON
	shared=$(sed -n 's/^trackway: nothing recorded.*; \([0-9]*\) of [0-9]* programs and .*/\1/p' ours.err)
}
"$TW" record -q -f dep-c -o whole.tw ./steps 0 1 2 >/dev/null || fail "record"
sh -c './steps 0; ./steps 0 1; ./steps 0 1 2' >native.out
mkdir -m 700 kept
all_is_learned alone --share=0
[ -z "$shared" ] || fail "$shared programs began with translations of others that there are none of"
for file in first second; do
	all_is_learned "$file" --keep="$PWD/kept"
	[ "${shared:-0}" = 2 ] || fail "${shared:-0} programs began with translations of others, not 2: $(cat ours.err)"
done
all_is_learned second --keep="$PWD/kept"
[ "${shared:-0}" = 4 ] || fail "where all is known ${shared:-0} programs began with translations of others, not 4"

# Those that are kept are of use with the learn file in the state that it had then: with that a later run begins with them, and tells what it does besides. With none that may know less.
step() { # step WHETHER FILE ARGUMENT...: WHETHER: it begins with what an earlier recording kept (1), or not (0)
	local whether=$1 file=$2
	shift 2
	"$TW" record --learn="$file" "${HOW[@]}" --keep="$PWD/kept" ./steps "$@" >ours.out 2>ours.err || fail "record: $(cat ours.err)"
	./steps "$@" | cmp -s - ours.out || fail "other output than natively: $(cat ours.out)"
	if grep -q '; 1 of 1 programs' ours.err; then [ "$whether" = 1 ]; else [ "$whether" = 0 ]; fi || fail "$file $*: it is not $whether that it begins with what was kept: $(cat ours.err)"
}
knows() { # knows FILE FUNCTION...: all of them
	local file=$1
	shift
	"$TW" coverage --against whole.tw --json "$file" >all.json || fail "coverage"
	python3 - "$@" <<-'PYTHON' || fail "$file does not know $*"
		import json, sys
		own = [r for r in json.load(open("all.json"))["functions"] if r["function"] in sys.argv[1:]]
		assert len(own) == len(sys.argv) - 1, own
		assert all(r["blocks"] == r["blocks_learned"] and r["edges"] == r["edges_learned"] for r in own), own
	PYTHON
}
HOW=()
step 0 steps.l 0
cp steps.l early.l
step 1 steps.l 0 1
cp steps.l late.l
step 1 steps.l 0 1 2
step 1 steps.l 0 1 2
knows steps.l one two three main
step 0 early.l 0 2 # what is kept now has told more than is in this file
knows early.l one three
step 0 late.l 0 1 2
knows late.l one two three main
rm steps.l
step 0 steps.l 0 1 2
knows steps.l one two three main
printf x | dd of=steps.l bs=1 seek=999 conv=notrunc status=none
step 0 steps.l 0 1 2
knows steps.l one two three main
[ -f steps.l.kept ] || fail "the damaged file is not kept"
HOW=(--learn-what=blocks)
step 0 what.l 0 1 2
HOW=(--learn-what=branches)
step 0 what.l 0 1 2
knows what.l one two three main
step 1 what.l 0 1 2

# A file that another has added to, or put in its place, while the program ran: what is kept of that run is not for it.
HOW=()
for change in 'step 0 busy.l 0' 'rm busy.l'; do
	rm -f begun go busy.l
	HOW=(--share=0)
	step 0 busy.l 0
	HOW=()
	WAIT=1 "$TW" record --learn=busy.l --keep="$PWD/kept" ./steps 0 1 2 >slow.out 2>slow.err &
	slow=$!
	CLEANUP+=("kill -9 $slow 2>/dev/null")
	until [ -e begun ]; do kill -0 $slow 2>/dev/null || fail "it has ended: $(cat slow.err)"; sleep 0.05; done
	$change
	: >go
	wait $slow || fail "record: $(cat slow.err)"
	step 0 busy.l 0 1 2
	knows busy.l one two three main
done
exit 0
