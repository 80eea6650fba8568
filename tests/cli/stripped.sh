# What functions without symbols cost: where they begin is known from unwind information, also of those that no call leads to, so that one replay is enough.
. "$(dirname "$0")/../lib.sh"

need_command strip

cc -O2 -fno-inline -fno-ipa-icf -fno-optimize-sibling-calls -g -o whole -x c - <<'END'
#include <stdlib.h>
__attribute__((noipa)) static long second(long n) { long s = 0; while (n--) s += n ^ s; return s; }
__attribute__((noipa)) static long third(long n) { long s = 1; while (n--) s += n * 3 ^ s; return s; }
__attribute__((noipa, optimize("optimize-sibling-calls"))) static long jumps(long n) { return third(n + 1); }
__attribute__((noipa)) static long pointed(long n) { return second(n) + 1; }
int main(int argc, char **argv)
{
	static long (*volatile by[])(long) = {pointed, jumps};
	(void)argv;
	return by[argc - 1](1000) + by[argc](2000) == 5 ? 1 : 0;
}
END
strip -o stripped whole
for program in whole stripped; do
	"$TW" record -q -o $program.tw -- ./$program || fail "$program is not recorded"
	"$TW" report --csv -n0 $program.tw >$program.csv || fail "report of $program"
done

# By where each begins in the file.
python3 - whole stripped <<'END' || fail "functions without symbols are not those with symbols"
import csv, subprocess, sys
where = {}
for line in subprocess.run(['nm', 'whole'], stdout=subprocess.PIPE, text=True, check=True).stdout.split('\n'):
    part = line.split()
    if len(part) == 3 and part[1] in 'tT':
        where[part[2]] = int(part[0], 16)
def cost(program):
    found = {}
    for row in csv.DictReader(open(program + '.csv')):
        if row['module'] != program:
            continue
        name = row['function']
        at = where.get(name, None) if '+0x' not in name else int(name.split('+0x')[1], 16)
        if at in [where[f] for f in ('main', 'second', 'third', 'jumps', 'pointed')]:
            found[at] = [row[k] for k in row if k not in ('function', 'module', 'address', 'file', 'line', 'unnamed')]
    return found
a, b = cost('whole'), cost('stripped')
if len(a) != 5 or a != b:
    sys.exit(f'{a}\n{b}')
END

# A name that is not there may be that of one of them.
"$TW" report --callees third stripped.tw >/dev/null 2>err && fail "third of a stripped program is there"
grep -q 'there is no function third; stripped has functions without symbols, which go by their addresses' err || fail "third: $(cat err)"
"$TW" report --callees thirt whole.tw >/dev/null 2>err && fail "thirt is there"
grep -q 'there is no function thirt; names like it: third' err || fail "thirt: $(cat err)"
