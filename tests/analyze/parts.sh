# Parts of variables by their names in the source: members and elements, shared and thread_local, of C and C++, by each kind of debug information; in touch, --range, races,
# locks and sharing. And what is said where there is no such part.
. "$(dirname "$0")/../lib.sh"
need_command python3
cat >parts.c <<'END'
#include <pthread.h>
struct node {
	long key;
	struct node *volatile next;
};
typedef struct {
	volatile long hits;
	union {
		volatile int misses;
		volatile char bytes[4];
	};
	struct node table[2][3];
	pthread_mutex_t lock;
} counts;
counts stats;
static _Thread_local volatile struct node mine[2];
static void *work(void *arg)
{
	static struct {
		volatile int first, second;
	} local;
	for (int i = 0; i < 10; i++)
		stats.hits++;
	for (int i = 0; i < 3; i++) {
		stats.misses = i;
		stats.table[1][i].next = stats.table[0];
	}
	stats.table[1][2].next = 0;
	pthread_mutex_lock(&stats.lock);
	local.second = stats.bytes[3];
	pthread_mutex_unlock(&stats.lock);
	mine[1].key = 1;
	return arg;
}
int main(void)
{
	pthread_t t;
	if (pthread_create(&t, 0, work, 0))
		return 1;
	work(0);
	return pthread_join(t, 0);
}
END
# found WHAT READS WRITES: that many of that part
found()
{
	"$TW" analyze touch "$1" --json parts.tw >touch.json 2>err || fail "$how: touch $1: $(cat err)"
	python3 -c 'import json, sys; f = json.load(open("touch.json")); sys.exit([f["reads"], f["writes"]] != [int(a) for a in sys.argv[1:]])' "$2" "$3" ||
		fail "$how: touch $1: $(head -c 300 touch.json)"
}
# told WHAT SENTENCE: there is none, and that is why
told()
{
	"$TW" analyze touch "$1" parts.tw >out 2>err && fail "$how: touch $1 finds something"
	grep -qF "$2" err || fail "$how: touch $1 says: $(cat err)"
}
check_parts()
{
	"$TW" record -q --calls --order -o parts.tw ./parts || fail "$how: record"
	found stats.hits 20 20
	found 'stats.table[1][2]' 0 4
	"$TW" analyze touch stats --json parts.tw >touch.json || fail "$how: touch stats"
	"$TW" analyze races --json parts.tw >races.json
	"$TW" analyze sharing --json parts.tw >sharing.json || fail "$how: sharing"
	python3 - <<'END' || fail "$how: parts in answers"
import json
def load(name):
    return json.load(open(name))
parts = {r["part"]: (r["reads"], r["writes"]) for r in load("touch.json")["parts"]}
assert parts["stats.hits"] == (20, 20) and parts["stats.table[][].next"] == (0, 8), parts
text = json.dumps(load("races.json"))
assert "stats.hits" in text and "stats.misses" in text and "stats.bytes[3]" in text and "stats.table[1][" in text, text
lines = " ".join(r["object"] for r in load("sharing.json")["lines"])
assert "stats.hits" in lines and "stats.misses" in lines and "stats.bytes[1]" not in lines, lines
END
	case $how in
	*gsplit-dwarf*) return ;; # gcc 12 leaves out there that `mine` is thread_local
	esac
	"$TW" analyze touch 'mine[1].key' --json parts.tw >touch.json || fail "$how: touch mine[1].key"
	python3 -c 'import json, sys; sys.exit(sum(p["writes"] for p in json.load(open("touch.json"))["places"] if "parts.c:" in p["place"]) != 2)' ||
		fail "$how: mine[1].key: $(cat touch.json)"
}
check_words()
{
	local address
	address=$("$TW" analyze touch stats.hits --json --most 1 parts.tw | sed -n 's/.*"at": \([0-9]*\).*/\1/p')
	found stats.misses 2 6 # and one of its bytes is read
	found 'stats.bytes[3]' 2 6
	found 'parts!stats.table[1][2].next' 0 4
	found 'stats.table[0]' 0 0
	found local.second 0 2
	"$TW" sql --csv parts.tw "select member(addr), count(*) from refs where addr between $address and $address + 11 group by 1 order by 1" >out || fail "$how: sql"
	[ "$(tail -n +2 out)" = "stats.bytes[3],2
stats.hits,40
stats.misses,6" ] || fail "$how: sql: $(cat out)"
	"$TW" info --address "$(printf %#x $((address + 4)))" parts.tw | grep -q 'variable stats+0x4, of [0-9]* bytes$' || fail "$how: info --address"
	"$TW" info --address "$(printf %#x $((address + 8)))" parts.tw | grep -q 'variable stats+0x8, of [0-9]* bytes: stats.misses$' || fail "$how: info --address"
	told stats.hit "a structure without a name has no member 'hit'"
	told 'stats.table[1][3]' "there are 3 elements, and '[3]' is none of them"
	told stats.table.key "an array has no member 'key'"
	told nothing.x "names a variable 'nothing.x'"
	"$TW" analyze locks --json parts.tw >locks.json || fail "$how: locks"
	grep -q '"lock": "stats.lock"' locks.json || fail "$how: locks: $(cat locks.json)"
}
for how in "$CC -gdwarf-5" "$CC -gdwarf-4 -O2" "$CC -g -gsplit-dwarf" "$CC -g -no-pie -flto" "clang -g"; do
	[ "${how%% *}" != clang ] || command -v clang >/dev/null || continue
	$how -O1 -pthread -o parts parts.c 2>err || { untested "parts of variables, compiled by $how"; continue; }
	check_parts
	[ "$how" != "$CC -gdwarf-5" ] || check_words
done

how="without debug information"
cp parts.c kept.c
$CC -O1 -pthread -o parts parts.c || fail "$how: does not compile"
"$TW" record -q -o parts.tw ./parts || fail "$how: record"
told stats.hits "its type is not known"
"$TW" analyze touch stats+8 parts.tw >out || fail "$how: touch stats+8"
how="built anew"
sed -i 's/volatile long hits;/volatile long added; volatile long hits;/; s/i < 10/i < 11/' parts.c
$CC -O1 -g -pthread -o parts kept.c && "$TW" record -q -o parts.tw ./parts && $CC -O0 -g -pthread -o parts parts.c || fail "$how: does not record"
told stats.hits "changed"
rm parts
how="removed"
told stats.hits "missing"

if command -v g++ >/dev/null; then
	cat >classes.cc <<'END'
#include <vector>
namespace shop {
struct base { long id; virtual ~base() {} };
struct item : base { volatile int price; static volatile int count; std::vector<int> sizes; };
volatile int item::count;
item goods[3];
}
int main() { shop::goods[2].price = 4; shop::goods[1].id = 2; shop::item::count = 1; shop::goods[1].sizes.push_back(1); return 0; }
END
	g++ -g -O1 -o classes classes.cc || fail "classes.cc does not compile"
	"$TW" record -q -o parts.tw ./classes || fail "record ./classes"
	how="C++"
	"$TW" analyze touch 'shop::goods[2].price' --json parts.tw >touch.json || fail "touch shop::goods[2].price"
	grep -q '"writes": 1' touch.json || fail "shop::goods[2].price: $(cat touch.json)"
	"$TW" analyze touch 'shop::goods' --json parts.tw >touch.json || fail "touch shop::goods"
	grep -q '"part": "shop::goods\[\].id"' touch.json && grep -q '"part": "shop::goods\[\].sizes' touch.json || fail "shop::goods: $(cat touch.json)"
fi
