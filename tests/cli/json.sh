# --json of every command is as docs/json.md has it: no key more, none less but those with a `?`, each of its type.
. "$(dirname "$0")/../lib.sh"
cp "$ROOT/docs/guide/words.c" . && $CC -O1 -g -pthread -o words words.c || fail "words.c does not compile"
cp /usr/share/common-licenses/GPL-3 text
: >empty
cat >schema.py <<'END_PY'
import json, re, sys

TYPES = {dict: 'object', list: 'list', str: 'string', int: 'integer', float: 'number', bool: 'boolean'}

def sections(file):
    tables, name = {}, None
    for line in open(file):
        if line.startswith('## '):
            name = line[3:].strip()
            tables[name] = {}
        cells = [c.strip() for c in line.split('|')]
        if line.startswith('| ') and cells[1] != 'key':
            tables[name][cells[1]] = cells[2]
    return tables

# What a table says of each path: its type, and those that may be absent (they, or what they are in, have a `?`).
def paths(table):
    known = {}
    for key, kind in table.items():
        prefix = ''
        parts = key.split('.')
        for i, part in enumerate(parts):
            optional, listed = '?' in part, part.endswith('[]')
            name = prefix + part.replace('?', '').replace('[]', '')
            last = i == len(parts) - 1
            if listed:
                known.setdefault(name, ('list', optional))
                name += '[]'
                known.setdefault(name, (kind if last else 'object', True))
            else:
                known.setdefault(name, (kind if last else 'object', optional))
            prefix = name + '.'
    return known

def fits(value, kind):
    found = TYPES[type(value)]
    return found == kind or (kind == 'number' and found == 'integer')

def walk(value, path, known, free):
    if path and path not in known:
        if path.startswith(free):
            return
        sys.exit('docs/json.md does not have ' + path)
    if path and not fits(value, known[path][0]):
        sys.exit('%s is %r, not of type %s' % (path, value, known[path][0]))
    if isinstance(value, dict):
        for key, (kind, optional) in known.items():
            parent, _, name = key.rpartition('.')
            if parent == path and not optional and not name.endswith('[]') and name not in value:
                sys.exit('%s is missing in %s' % (key, path or 'the object'))
        for key in value:
            walk(value[key], path + '.' + key if path else key, known, free)
    if isinstance(value, list):
        for member in value:
            walk(member, path + '[]', known, free)

def conforms(tables, value):
    name = value['schema']
    if name not in tables:
        sys.exit(name + ' is not in docs/json.md')
    known = paths(tables[name])
    if 'crashes[]' in known:
        known.update(paths(tables['crashes']))
    if 'budget' in known:
        known.update(paths(tables['budget']))
    if name.startswith('trackway-analyze'):  # its other keys are the analyzer's: figures, and tables of objects
        for key in [k for k in value if k not in known]:
            rows = value.pop(key)
            if isinstance(rows, list) and not all(isinstance(r, dict) for r in rows):
                sys.exit(key + ' is not a table')
    walk(value, '', known, ('paths[].terms[].terms', 'budget.overshoots.below_us.'))

tables = sections(sys.argv[1])
for file in sys.argv[2:]:
    text = open(file).read()
    print(file, text.split('\n', 1)[0])
    conforms(tables, json.loads(text.split('\n', 1)[1]))
END_PY
mkdir answers
n=0
conforms() { # conforms COMMAND...: what it prints will be compared with the page
	n=$((n + 1))
	{ echo "$*" && "$TW" "$@"; } >answers/$n || fail "$*: status $?"
}
"$TW" record -q -o words.tw ./words text 2 >/dev/null || fail "record"
"$TW" record -q -o window.tw --start=sort --stop=printf ./words text >/dev/null || fail "record --start"
run out err "$TW" record -q -o crash.tw ./words empty
"$TW" record -q -o children.tw sh -c 'true; (kill -9 $$)' >/dev/null 2>&1
printf 'I  04016b80,3\n S 1ffe,8\n' >trace
"$TW" import lackey -q -o imported.tw trace || fail "import"
"$TW" record -q --calls --order -o calls.tw ./words text >/dev/null || fail "record --calls"
"$TW" record -q --budget=20% --learn=words.learned -o learned.tw ./words text >/dev/null || fail "record --learn"
"$TW" record -q --budget=20% -o budget.tw ./words text >/dev/null || fail "record --budget"
for r in words window crash children imported budget; do
	conforms info --json $r.tw
	conforms report --json $r.tw
	conforms blocks --json $r.tw
	conforms report --json --last 3 $r.tw
done
for option in --self --lines --memory --blocks --tree '--callers add' '--callees main' '-n 2' '--thread 1'; do
	# shellcheck disable=SC2086
	conforms report --json $option words.tw
done
conforms info --json --address 10000000 words.tw
conforms paths --json words.tw
conforms learn --json words.learned
conforms learn --json --functions words.learned
conforms coverage --json --against words.tw words.learned
for a in $("$TW" analyze --list | awk '{ print $1 }'); do
	case $a in
	touch | diff) ;; # which want more than a recording: below
	heap | locks | races) conforms analyze "$a" --json calls.tw ;;
	*) conforms analyze "$a" --json words.tw ;;
	esac
done
conforms analyze touch n_words --json words.tw
conforms analyze diff words.tw --json words.tw
python3 schema.py "$ROOT/docs/json.md" answers/* >compared || fail "$(tail -n 1 compared)"
[ "$(wc -l <compared)" = $n ] || fail "not all were compared"
"$TW" sql --json words.tw 'select pid, tid from threads' | python3 -c 'import json, sys; assert [sorted(r) for r in json.load(sys.stdin)] == [["pid", "tid"]] * 2' || fail "sql --json"

# The comparison can fail: a key that is not there, one of another type, one too many.
"$TW" report --json words.tw >report.json
for change in 'del v["totals"]["refs"]' 'v["gaps"] = "none"' 'v["functions"][0]["extra"] = 1' 'del v["functions"][0]["refs"]'; do
	{ echo "$change" && python3 -c "import json; v = json.load(open('report.json')); $change; print(json.dumps(v))"; } >changed
	! python3 schema.py "$ROOT/docs/json.md" changed >/dev/null 2>&1 || fail "$change: not found to be wrong"
done
exit 0
