# Programs of other linkers, whose segments share pages of the file: functions and variables have their names, windows by function and range are right.
. "$(dirname "$0")/../lib.sh"
need_command python3
cat >linked.c <<'END_OF_C'
#include <stdio.h>
long summed_numbers[4], first_numbers[4] = {1, 2, 3, 4};
static const long fixed_numbers[4] __attribute__((aligned(128))) = {5, 6, 7, 8};
__attribute__((noinline)) long work(int i)
{
	summed_numbers[i] += first_numbers[i] * ((const volatile long *)fixed_numbers)[i];
	return summed_numbers[i];
}
__attribute__((noipa)) void last(void)
{
}
int main(void)
{
	long sum = 0;
	for (int i = 0; i < 400; i++)
		sum += work(i % 4);
	last();
	for (int i = 0; i < 100; i++)
		sum += work(i % 4);
	return printf("%ld\n", sum) < 0;
}
END_OF_C
cat >judge.py <<'END_OF_PYTHON'
import json, sys
touched = json.load(open("touched.json"))
assert touched["reads"] == int(sys.argv[1]) and touched["writes"] == int(sys.argv[2]), (sys.argv, touched["reads"], touched["writes"])
END_OF_PYTHON
tried=
for linker in bfd gold lld mold; do
	for kind in -pie -no-pie; do
		left_out "$linker $kind" 'bfd -no-pie' 'gold -no-pie' 'lld -no-pie' 'mold -no-pie' && continue
		$CC -O1 -g -fuse-ld=$linker $kind -o linked linked.c 2>err || continue
		tried+=" $linker"
		./linked >wanted || fail "$linker $kind: the program fails natively"
		rm -rf l.tw w.tw
		run out err "$TW" record -q -o l.tw ./linked || fail "$linker $kind: $(cat err)"
		cmp -s out wanted || fail "$linker $kind: another output"
		for what in "summed_numbers 500 500" "first_numbers 500 0" "fixed_numbers 500 0"; do
			set -- $what
			"$TW" analyze touch "$1" --json l.tw >touched.json 2>err || fail "touch $1 of $linker $kind: $(cat err)"
			python3 judge.py "$2" "$3" || fail "touch $1 of $linker $kind"
		done
		"$TW" report --csv l.tw >report.csv || fail "report of $linker $kind"
		grep -q '^.*work.*linked' report.csv || fail "report of $linker $kind knows no work"
		run out err "$TW" record -q --start=last -o w.tw ./linked || fail "--start of $linker $kind: $(cat err)"
		"$TW" analyze touch first_numbers --json w.tw >touched.json 2>err || fail "$linker $kind, recorded from last on: $(cat err)"
		python3 judge.py 100 0 || fail "$linker $kind, recorded from last on"
	done
done
for linker in gold lld mold; do
	[[ $tried = *$linker* ]] || untested "programs linked by $linker, which is not here"
done
