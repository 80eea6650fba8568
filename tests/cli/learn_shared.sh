# Learning: processes begin with the translations of others of the same recording, which have told what is in them; what only a later one does is told all the same. None are kept for another recording.
. "$(dirname "$0")/../lib.sh"
need_command python3
cc_program steps -g -O1 <<'CODE'
#include <stdio.h>
#include <stdlib.h>
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
[ -z "$(find kept -type f ! -name '*.names')" ] || fail "translations are kept that tell nothing to another learn file"
all_is_learned second
[ "${shared:-0}" = 2 ] || fail "where all is known ${shared:-0} programs began with translations of others, not 2"
