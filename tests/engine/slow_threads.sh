# Threads that run on for long and do little take a buffer of the recorder's memory or two, not all that they have; those that have ended take none.
. "$(dirname "$0")/../lib.sh"
cc_program slow -pthread <<'END'
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
enum { THREADS = 8, BURSTS = 24, REFERENCES = 30000 }; /* a buffer in two or three bursts: each thread comes by all eight of its */
static unsigned char table[1 << 16];
static int strings;
static atomic_int done, measured;

/* Megabytes of the channel, a file in memory that the parent, which is the recorder, has open. */
static long shared_memory(void)
{
	char name[300], link[256];
	long blocks = 0;
	struct stat st;
	snprintf(name, sizeof name, "/proc/%d/fd", (int)getppid());
	DIR *d = opendir(name);
	for (struct dirent *e; d && (e = readdir(d));) {
		snprintf(name, sizeof name, "/proc/%d/fd/%.20s", (int)getppid(), e->d_name);
		const ssize_t n = readlink(name, link, sizeof link - 1);
		link[n > 0 ? n : 0] = 0;
		if (strstr(link, "memfd:trackway") && !stat(name, &st))
			blocks += st.st_blocks;
	}
	if (d)
		closedir(d);
	return blocks >> 11;
}

static void *burst_and_sleep(void *arg)
{
	unsigned long x = (unsigned long)arg;
	for (int b = 0; b < BURSTS; b++) {
		for (int i = 0; i < REFERENCES; i++) {
			x = x * 6364136223846793005ul + table[x >> 48];
			table[x >> 47 & 0xffff]++;
			if (strings && i % 4 == 0) { /* these are told even by programs that count for themselves */
				void *to = table;
				unsigned long n = 1;
				__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
			}
		}
		usleep(300000);
	}
	for (done++; !measured;)
		usleep(10000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	strings = argc > 1;
	long before = shared_memory();
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, burst_and_sleep, (void *)i);
	while (done < THREADS)
		usleep(100000);
	printf("%ld MB while they ran, ", shared_memory() - before);
	measured = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 300 && shared_memory() - before > 4; i++) /* until the recorder has come to it */
		usleep(100000);
	printf("%ld when they had ended\n", shared_memory() - before);
	return 0;
}
END
hows=("" "--sink=count")
if [ "$(stat -f -c %T .)" = tmpfs ]; then # what is spooled there is shared memory, too
	untested "buffers given back while a recording is stored on a tmpfs"
	hows=("--sink=count")
fi
for how in "${hows[@]}"; do
	"$TW" record -q $how -o r ./slow $how >out || fail "record $how: status $?"
	"$TW" check -q r || fail "check, recorded with '$how'"
	read -r running _ _ _ _ ended _ <out
	[ "$running" -ge 0 ] && [ "$running" -le 24 ] && [ "$ended" -le 4 ] || fail "of shared memory 8 threads took, recorded with '$how': $(cat out)"
done
