# dump --champsim: what the simulator reads is what --lackey and --blocks print; kinds of branches by the simulator's own rules; registers; parts, threads, -j.
. "$(dirname "$0")/../lib.sh"
need_command python3
cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int less(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

__attribute__((noinline)) static int choose(int i)
{
	switch (i % 7) {
	case 0: return i * 3;
	case 1: return i ^ 5;
	case 2: return i - 9;
	case 3: return i / 3;
	case 4: return i << 2;
	case 5: return ~i;
	default: return i % 11;
	}
}

static long marked(long *from, long i)
{
	long to = 0, many = 300;
	static char a[5000], b[5000];
	__asm__ volatile("first: mov (%[from],%[i],8), %%rbx\n\t"
	                 "add %%ecx, %%eax\n\t"
	                 "mov (%%rbx), %%al\n\t"
	                 "movdqu (%%rbx), %%xmm9\n\t"
	                 "lock xadd %%r10, (%%rbx)\n\t"
	                 "push %%r12\n\t"
	                 "pop %%r13\n\t"
	                 "cmovc %%r8, %%r9\n\t"
	                 "mov $3, %%ecx\n\t"
	                 "1: loop 1b\n\t"
	                 "jrcxz 2f\n\t"
	                 "nop\n\t"
	                 "2: lea 3f(%%rip), %%r11\n\t"
	                 "push %%r11\n\t"
	                 "jmp *(%%rsp)\n\t"
	                 "3: pop %%r11\n\t"
	                 : "+a"(to) : [from] "D"(from), [i] "S"(i) : "rbx", "rcx", "r8", "r9", "r10", "r11", "r13", "xmm9", "memory", "cc");
	char *d = a, *s = b;
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(many) : : "memory");
	many = 5000, d = a, s = b; /* more than a batch of replay holds, with others */
	__asm__ volatile("repe cmpsb" : "+D"(d), "+S"(s), "+c"(many) : : "memory", "cc");
	many = 0, d = a;
	__asm__ volatile("rep stosb" : "+D"(d), "+c"(many) : "a"(0) : "memory");
	return to;
}

int main(void)
{
	static int n[100];
	long own = 7, *place = &own;
	for (int i = 0; i < 100; i++)
		n[i] = choose(i * 7919 % 2003);
	qsort(n, 100, sizeof *n, less);
	char text[64];
	snprintf(text, sizeof text, "%d %g\n", n[0], n[99] / 7.0);
	marked((long *)&place, 0);
	return puts(strrchr(text, ' ')) < 0;
}
END
$CC -O1 -no-pie -o program program.c || fail "compile"
whole ./program
"$TW" dump --champsim -o trace recording.tw || fail "dump --champsim"
"$TW" dump --lackey recording.tw >lackey && "$TW" dump --blocks recording.tw >blocks || fail "dump"
first=$(nm program | awk '$3 == "first" { print $1 }')
cat >compare.py <<'END'
import struct, sys

RSP, FLAGS, RIP = 6, 25, 26
records = []
for r in struct.iter_unpack("<Q2B2B4B2Q4Q", open("trace", "rb").read()):
    records.append((r[0], r[1], r[2], [x for x in r[3:5] if x], [x for x in r[5:9] if x], [x for x in r[9:11] if x], [x for x in r[11:15] if x]))

def kind(to, source):  # as inc/instruction.h of the simulator has it
    other = any(r not in (RSP, FLAGS, RIP) for r in source)
    sp, ip, flags, wsp, wip = RSP in source, RIP in source, FLAGS in source, RSP in to, RIP in to
    if not sp and not flags and wip and not other: return "jump"
    if not sp and not ip and not flags and wip and other: return "ijump"
    if not sp and ip and not wsp and wip and (flags or other): return "cond"
    if sp and ip and wsp and wip and not flags: return "icall" if other else "call"
    if sp and not ip and wsp and wip: return "return"
    return "other" if wip else ""

# Groups of one pc in a row: the same instructions with the same references as Lackey's.
def unique(l):
    return sorted(set(l)) # cmps reads in either order
def groups(items):
    found = []
    for pc, read, written in items:
        if not found or found[-1][0] != pc:
            found.append((pc, [], []))
        found[-1][1].extend(read)
        found[-1][2].extend(written)
    return [(pc, unique(r), unique(w)) for pc, r, w in found]
lines = []
lengths = {}
for line in open("lackey"):
    a, size = line[3:].split(",")
    a = int(a, 16)
    if line[0] == "I":
        lines.append((a, [], []))
        lengths[a] = int(size)
    else:
        if line[1] in "LM": lines[-1][1].append(a)
        if line[1] in "SM": lines[-1][2].append(a)
ours, theirs = groups((r[0], r[6], r[5]) for r in records), groups(lines)
for n, (o, t) in enumerate(zip(ours, theirs)):
    if o != t: sys.exit("group %d: %s, lackey has %s" % (n, o, t))
if len(ours) != len(theirs): sys.exit("%d groups, lackey has %d" % (len(ours), len(theirs)))

# Blocks: each ends as the simulator understands it, and goes where the next one begins.
blocks = [line.split() for line in open("blocks")]
at, starts, met = 0, [], {}
for n, (thread, pc, insns, ending) in enumerate(blocks):
    if records[at][0] != int(pc, 16): sys.exit("block %d begins at %x, not %s" % (n, records[at][0], pc))
    for k in range(int(insns)):
        starts.append(at)
        here = records[at]
        wanted = ending if k + 1 == int(insns) and ending in ("jump", "cond", "call", "return", "ijump", "icall") else ""
        if kind(here[3], here[4]) != wanted: sys.exit("%x is a '%s', not a '%s': %s" % (here[0], kind(here[3], here[4]), wanted, here))
        if here[1] != (wanted != ""): sys.exit("%x: is_branch is %d" % (here[0], here[1]))
        at += 1
        while not here[1] and at < len(records) and records[at][0] == here[0]:
            at += 1
        taken = wanted != "" and (wanted != "cond" or records[at][0] != here[0] + lengths[here[0]])
        if here[2] != taken: sys.exit("%x: taken is %d, not %d" % (here[0], here[2], taken))
        met[wanted, taken] = met.get((wanted, taken), 0) + 1
if at != len(records): sys.exit("%d records are of no block" % (len(records) - at))
for ending in ("jump", "call", "return", "ijump", "icall", "cond"):
    if not met.get((ending, True)): sys.exit("the program has no " + ending)
if not met["cond", False]: sys.exit("no branch that is not taken")

# Registers.
at = next(i for i, r in enumerate(records) if r[0] == int(sys.argv[1], 16))
for to, source in (([7], [3, 4]), ([10, FLAGS], [10, 9]), ([10], [7]), ([32 + 9], [7]), ([13, FLAGS], [7, 13]), ([RSP], [RSP, 15]),
                   ([16, RSP], [RSP]), ([12], [12, 11, FLAGS]), ([9], [])):
    if sorted(records[at][3]) != sorted(to) or sorted(records[at][4]) != sorted(source): sys.exit("%x: %s, not %s %s" % (records[at][0], records[at], to, source))
    at += 1
if [r[2] for r in records[at:at + 3]] != [1, 1, 0]: sys.exit("loop: %s" % records[at:at + 3])

# Where instructions begin, for parts.
open("starts", "w").write("\n".join(map(str, starts + [len(records)])))
END
python3 compare.py "$first" || fail "dump --champsim"

# part FROM COUNT: those instructions' records
insns=$(info_value instructions recording.tw)
part() {
	local begin end
	begin=$(sed -n "$(($1 + 1))p" starts) end=$(sed -n "$(($1 + $2 + 1))p" starts)
	"$TW" dump --champsim --from "$1" --count "$2" "${@:3}" recording.tw >part || fail "--from $1 --count $2"
	tail -c +$((begin * 64 + 1)) trace | head -c $(((end - begin) * 64)) | cmp - part || fail "--from $1 --count $2 ${*:3} gives something else"
}
for from in 0 1 $((insns / 2)) $((insns / 2 + 1)) $((insns / 2 + 2)) $((insns / 2 + 3)) $((insns - 5001)); do part "$from" 5000; done
part $((insns / 3)) 1 -j 2
"$TW" dump --champsim -j 3 recording.tw | cmp - trace || fail "-j 3 gives something else"
begin=$(sed -n "$((insns - 99))p" starts)
"$TW" dump --champsim --last 100 recording.tw | cmp - <(tail -c +$((begin * 64 + 1)) trace) || fail "--last"

# what it cannot be made of
cc_program threads -pthread <<'END'
#include <pthread.h>
static void *run(void *p) { return p; }
int main(void) { pthread_t t; return pthread_create(&t, 0, run, 0) || pthread_join(t, 0); }
END
"$TW" record -q -o threads.tw ./threads || fail "record"
one_sentence "$TW" dump --champsim threads.tw
says "has 2 threads"
"$TW" dump --champsim --thread 1 threads.tw >one || fail "--thread"
"$TW" dump --lackey --thread 1 threads.tw | grep -c ^I >lines
[ -s one ] && [ $(($(stat -c %s one) / 64)) -le "$(cat lines)" ] && [ $(($(stat -c %s one) / 64 + 50)) -ge "$(cat lines)" ] || fail "--thread 1: $(stat -c %s one) bytes, $(cat lines) instructions"
printf 'I  04000000,3\n S 7fe000f8,8\nI  04000003,2\n' | "$TW" import lackey -q -o i.tw - || fail "import"
one_sentence "$TW" dump --champsim i.tw
says "imported from addresses only"
