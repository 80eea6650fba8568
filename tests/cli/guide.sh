# What docs/guide.md and README.md show happens: all their commands run, and print the words that stand there. Numbers differ from machine to machine and are not compared; nor
# are names of the C library, which depend on whether its debug symbols are installed.
. "$(dirname "$0")/../lib.sh"

export PATH=$BUILD:$PATH
cp "$ROOT/docs/guide/words.c" .
cat >guide.py <<'END_PY'
import re, subprocess, sys

END = '@@end'
shell = subprocess.Popen(['bash'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

def run(command):
    shell.stdin.write('{ %s\n} 2>&1 | cat; printf "\\n%s %%s\\n" "${PIPESTATUS[0]}"\n' % (command, END))
    shell.stdin.flush()
    lines = []
    for line in shell.stdout:
        if line.startswith(END):
            return int(line.split()[1]), '\n'.join(lines)
        lines.append(line.rstrip('\n'))
    sys.exit('the shell ended at: ' + command)

def commands(file):
    fenced, found = False, []
    for line in open(file):
        line = line.rstrip('\n')
        if line.startswith('```'):
            fenced = not fenced
        elif fenced and line.startswith('$ '):
            found.append((line[2:], []))
        elif fenced and found:
            found[-1][1].append(line)
    return found

def words(line):
    return re.findall(r'(?<!\w)[A-Za-z][A-Za-z_]+(?!\w)', line)

def comparable(line):
    return not re.search(r'libc|ld-linux|\b_\w|malloc|killed|Segmentation', line)

n = 0
for command, shown in commands(sys.argv[1]):
    status, printed = run(command)
    dies = any('died of' in line for line in shown)
    if status and not (dies and status == 139):
        sys.exit('%s\nends with status %d:\n%s' % (command, status, printed))
    there = set(words(printed))
    for line in filter(comparable, shown):
        for word in words(line):
            n += 1
            if word not in there:
                sys.exit('%s\nis shown with "%s", but prints:\n%s' % (command, word, printed))
if n < int(sys.argv[2]):
    sys.exit('only %d words were compared' % n)
END_PY
python3 guide.py "$ROOT/docs/guide.md" 300 || fail "docs/guide.md"
python3 guide.py "$ROOT/README.md" 50 || fail "README.md"

# The comparison can fail.
printf '```\n$ echo one two\none three\n```\n' >wrong.md
! python3 guide.py wrong.md 0 >/dev/null 2>&1 || fail "a wrong page is not found"
exit 0
