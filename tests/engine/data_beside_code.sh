# Data beside code: a page of hot code is written to again and again, and what was made of it is made anew. Superblocks take their former paths then
# (src/engine/code/known_paths.h), so that the number of descriptors does not grow with the number of writes.
. "$(dirname "$0")/../lib.sh"
cc_program program -O1 -Wl,--no-warn-rwx-segments <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
typedef unsigned long u64;
#define BOTH __attribute__((section(".both,\"awx\",@progbits#"), aligned(64)))
__asm__(".pushsection .both,\"awx\",@progbits\n.balign 64\n.globl datum\ndatum: .quad 1\n.popsection"); extern volatile u64 datum;
static u64 table[8192] __attribute__((aligned(4096)));
static BOTH __attribute__((noinline)) u64 work(u64 n, u64 x)
{
	u64 sum = 0;
	for (u64 i = 0; i < n; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		u64 k = x >> 40;
		if (k & 1) sum += table[1024 + (k & 4095)]; else sum ^= table[1024 + (k >> 3 & 4095)];
		if (k & 2) table[1024 + (k >> 5 & 4095)] = sum; else sum += 3;
		if (k & 4) sum -= table[1024 + (k >> 7 & 4095)]; else table[1024 + (k >> 9 & 4095)]++;
		if (k & 8) sum ^= k;
		if (k & 16) sum += table[1024 + (sum & 4095)]; else sum *= 5;
	}
	return sum;
}
int main(int argc, char **argv)
{
	u64 sum = 0, rounds = argc > 1 ? strtoul(argv[1], 0, 0) : 1;
	u64 page = (u64)work & ~4095ul;
	mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (u64 r = 0; r < rounds; r++) {
		sum += work(200000, r);
		datum++;
	}
	printf("%lu\n", sum);
	return 0;
}
END
fragments() { # fragments ROUNDS: how many have a descriptor after so many writes
	./program "$1" >native
	"$TW" record -q -f dep -o r ./program "$1" >out || fail "record: status $?"
	cmp -s native out || fail "another output after $1 rounds"
	"$TW" check -q r || fail "check after $1 rounds"
	"$TW" dump --code r | grep -c '^fragment'
}
few=$(fragments 20) && many=$(fragments 120) || exit 1
[ "$many" -lt $((few + few / 5)) ] || fail "$few descriptors after 20 writes to the page, $many after 120"
