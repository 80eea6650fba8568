# Sanitizers want most of the address space for their shadow memory; what is mapped there before them ends the program.
. "$(dirname "$0")/../lib.sh"
cat >program.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static void *work(void *unused)
{
	for (int i = 0; i < 300; i++) {
		int *p = malloc(sizeof *p);
		*p = i;
		pthread_mutex_lock(&lock);
		sum += *p;
		pthread_mutex_unlock(&lock);
		free(p);
	}
	return unused;
}
int main(void)
{
	pthread_t thread[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	printf("%ld\n", sum);
	return 0;
}
END
ran=0
for which in "gcc thread" "gcc address" "clang thread" "clang memory"; do
	read -r compiler sanitizer <<<"$which"
	"$compiler" -O1 -g -fPIE -pie -fsanitize="$sanitizer" -o "$compiler-$sanitizer" program.c -pthread 2>compiler.err || continue
	[ "$("./$compiler-$sanitizer" 2>/dev/null)" = 134550 ] || continue # not on this kernel
	RECORD_OPTIONS=()
	same_as_native "./$compiler-$sanitizer"
	RECORD_OPTIONS=(-f none)
	same_as_native "./$compiler-$sanitizer"
	ran=$((ran + 1))
done
[ "$ran" -gt 0 ] || skip "no sanitizer runs here"
