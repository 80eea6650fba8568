# What is recorded across many buffers, without --verify (which leaves room in each and so never runs into a guard page): the references are
# those that the format `call` logs.
. "$(dirname "$0")/../lib.sh"
need_fixed_addresses
cat >program.c <<'E2'
#include <stdlib.h>
#include <string.h>

static unsigned fib(unsigned n)
{
	volatile unsigned local[3] = {n, n, n};
	return n < 2 ? n : fib(local[1] - 1) + fib(local[2] - 2);
}

struct node {
	struct node *next;
	unsigned key;
	char text[24];
};

int main(void)
{
	static struct node *table[64], nodes[3000];
	unsigned sum = 0, seed = 1;
	for (unsigned i = 0; i < 3000; i++) {
		seed = seed * 1103515245 + 12345;
		struct node *n = &nodes[i], **at = &table[seed >> 8 & 63];
		n->key = seed >> 16;
		memset(n->text, 'a' + seed % 26, seed % sizeof n->text);
		n->next = *at;
		*at = n;
	}
	for (unsigned round = 0; round < 60; round++)
		for (unsigned i = 0; i < 64; i++)
			for (struct node *n = table[i]; n; n = n->next)
				sum += n->key % 7 == round ? (unsigned)strlen(n->text) : n->key;
	return (int)((fib(25) + sum) & 63);
}
E2
$CC -O2 -static -o program program.c || fail "the program does not compile"
setarch -R ./program
expected=$?
for f in dep call; do
	setarch -R "$TW" record -q -f "$f" -o "$f.tw" ./program
	[ $? = "$expected" ] || fail "format $f changes the exit status"
	"$TW" dump "$f.tw" >"$f.refs" || fail "dump of format $f"
done
raw=$("$TW" info --json dep.tw | grep -o '"raw_bytes": *[0-9]*' | head -n 1 | grep -o '[0-9]*')
[ "$raw" -ge 2500000 ] || fail "$raw bytes: that is not several buffers"
cmp dep.refs call.refs || fail "the formats differ"
