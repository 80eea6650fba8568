# record --learn-what=cct: a table for indirect branches that is made while a thread records has the room that bare code's sites need, too. Without it the engine's heap was overwritten,
# and programs that fork much died.
. "$(dirname "$0")/../lib.sh"
need_command bash
cat >script <<'END'
for i in 1 2 3 4 5 6 7 8 9 10; do
	x=$(echo $i)
	y=$(echo a/b$x | sed s/a/c/)
	echo "$y $(ls / | head -n 3 | wc -l)"
done
END
native bash script
for run in 1 2; do
	rm -f learned
	"$TW" record -q --learn=learned --learn-what=cct --budget=20% -- bash script >recorded.out 2>recorded.err || fail "run $run: status $?: $(cat recorded.err)"
	[ ! -s recorded.err ] || fail "run $run: $(cat recorded.err)"
	cmp -s native.out recorded.out || fail "run $run: other output than natively"
done
