# A program that goes on writing its code: what is made of it becomes stale again and again, and the engine's memory stays bounded all the same.
. "$(dirname "$0")/../lib.sh"
cc_program program -O1 <<'END_C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#define FUNCTIONS 120
#define PLACE     32

static long peak_kb(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1, half = 0;
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const unsigned char function[] = {0xb8, 0, 0, 0, 0, 0x85, 0xff, 0x74, 0x01, 0xc3, 0xff, 0xc0, 0xc3}; /* edi ? value : value + 1 */
	unsigned long sum = 0;
	for (int k = 0; k < FUNCTIONS; k++)
		memcpy(code + k * PLACE, function, sizeof function);
	for (long r = 0; r < rounds; r++) {
		if (r == rounds / 2)
			half = peak_kb();
		for (int k = 0; k < FUNCTIONS; k++)
			*(int *)(code + k * PLACE + 1) = (int)r + k;
		for (int k = 0; k < FUNCTIONS; k++)
			sum += ((unsigned (*)(int))(code + k * PLACE))((int)(r & 1));
	}
	printf("%lu\n", sum);
	if (argc > 2)
		fprintf(stderr, "%ld %ld\n", half, peak_kb());
	return 0;
}
END_C
rounds=2000
./program $rounds >native
for format in none dep; do
	"$TW" record -q -f $format --sink=count ./program $rounds x >out 2>said || fail "-f $format: status $?"
	cmp -s native out || fail "-f $format: another output"
	read -r half all < <(grep -E '^[0-9]+ [0-9]+$' said)
	[ -n "$all" ] || fail "-f $format: the program did not say its memory: $(cat said)"
	[ $((all - half)) -lt 40000 ] || fail "-f $format: $half kB after half the writes, $all kB after all"
done
