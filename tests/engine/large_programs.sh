# Programs with large arrays of their own: at a fixed address over the place where modules go, too large for the arena, and where the engine is,
# which is refused in a sentence, and runs natively when a recorded program executes it.
. "$(dirname "$0")/../lib.sh"
program() {
	local name=$1
	shift
	cc_program "$name" "$@" <<'END2'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile char array[(unsigned long)MB << 20];
int main(void)
{
	array[0] = 3;
	array[sizeof array - 1] = 4;
	char *p = sbrk(1 << 20), *q = malloc(100), *r = malloc(1 << 20);
	*p = *q = *r = 1;
	printf("%d %d %d\n", array[0], array[sizeof array - 1], *p + *q + *r);
	return 5;
}
END2
}
for mb in 900 1500; do
	program fixed$mb -DMB=$mb -no-pie
	whole ./fixed$mb
done
program moved -DMB=1500
whole ./moved
program larger -DMB=5000 -mcmodel=medium -pie -fPIE
whole ./larger
program static -DMB=1200 -static
whole ./static

program there -DMB=3000 -mcmodel=medium -no-pie
one_sentence "$TW" record ./there
says 'is linked to addresses from 0x5f000000'
same_as_native sh -c './there; echo $?'
