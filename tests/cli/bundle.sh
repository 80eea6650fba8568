# bundle: one file to hand on, with names and sources, that tells the same where neither program nor sources are.
. "$(dirname "$0")/../lib.sh"
need_command tar
mkdir here there
cd here || exit 1
cc_program prog <<'END_C'
static __attribute__((noinline)) int work(int n)
{
	volatile int sum = 0;
	for (int i = 0; i < n; i++)
		sum += i; /* the line */
	return sum;
}
int main(void)
{
	return work(1000) == 1;
}
END_C
recorded ./prog
"$TW" report --lines --csv recording.tw >../lines || fail "report"
"$TW" bundle --sources -o ../it.tar recording.tw >bundle.out 2>&1 || fail "bundle: $(cat bundle.out)"
[ ! -s bundle.out ] || fail "bundle says: $(cat bundle.out)"
"$TW" check recording.tw >/dev/null || fail "bundle leaves the recording damaged"
cd ../there && rm -rf ../here && tar -xf ../it.tar || fail "tar"
"$TW" report --lines --csv recording.tw | cmp - ../lines || fail "what was handed on tells something else"
grep -q 'sum += i; /\* the line \*/' ../lines || fail "there is no text"

# A recording without names gets them first.
cc_program prog <<<'int main(void) { return 0; }'
RECORD_OPTIONS+=(--names=later)
recorded ./prog
"$TW" bundle recording.tw && [ -s recording.tar ] || fail "bundle without -o"
rm -rf recording.tw prog && tar -xf recording.tar
"$TW" report -n 0 recording.tw 2>err | grep -q "main prog.c:1" || fail "a recording without names is handed on without: $(cat err)"
one_sentence "$TW" bundle nowhere.tw
# One that does not fit is not there.
(
	ulimit -f 2
	trap '' XFSZ
	exec "$TW" bundle -o large.tar recording.tw 2>err
) && fail "a bundle that became too large: status 0"
grep -q 'large.tar: tar could not write it' err || fail "a bundle that became too large: $(cat err)"
ls large* >/dev/null 2>&1 && fail "a part of it is left: $(ls large*)"
exit 0
