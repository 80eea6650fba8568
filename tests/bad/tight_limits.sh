# Limits on memory and on the size of files that nobody here may raise (ulimit -v, -d, -f): the engine, the channel and the collector are small enough.
# timeout: 240
if [ "$(id -u)" = 0 ]; then # who may raise them is somebody else from here on
	type -P setpriv >/dev/null || {
		echo "no setpriv here to be another user"
		exit 77
	}
	build=${BUILD:-$(dirname "$0")/../../build}
	setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$build/trackway-engine" -a -r "$0" || {
		echo "the program under test cannot be reached by another user"
		exit 77
	}
	exec setpriv --reuid=65534 --regid=65534 --clear-groups bash "$0"
fi
. "$(dirname "$0")/../lib.sh"
asan && skip "the sanitizer wants terabytes"
cc_program many -pthread <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static long sums[24];
static void *work(void *arg)
{
	const long k = (long)arg;
	char *p = malloc(100000);
	for (long i = 0; i < 20000; i++)
		sums[k] += p[i] = (char)(i ^ k);
	free(p);
	return NULL;
}
int main(void)
{
	pthread_t t[24];
	pthread_attr_t small;
	int status;
	long sum = 0;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 17);
	for (int round = 0; round < 3; round++) {
		for (long i = 0; i < 24; i++)
			if (pthread_create(&t[i], &small, work, (void *)i))
				return 1;
		for (int i = 0; i < 24; i++)
			pthread_join(t[i], NULL);
	}
	for (long i = 0; i < 8; i++)
		if (!fork()) {
			work((void *)i);
			_exit(sums[i] != 0);
		}
	while (wait(&status) > 0)
		sum += status;
	for (int i = 0; i < 24; i++)
		sum += sums[i];
	printf("%ld\n", sum);
	return 0;
}
EOF
# What of the limit it can have, in MB.
cc_program takes <<'EOF'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	int n = 0;
	while (malloc(1000000))
		n++;
	printf("%d\n", n);
	return 0;
}
EOF
cat >reads.sh <<'EOF'
ulimit -v; ulimit -Hv; ulimit -d; ulimit -Hd; ulimit -f
ulimit -Sv 600000 -Sd 600000; ulimit -v; ulimit -Hv; ulimit -d
ulimit -Hv 700000; ulimit -v; ulimit -Hv
ulimit -v 999999999 2>/dev/null && echo raised
sh -c 'ulimit -v; ulimit -Hv; ulimit -d; ls -d /'
true
EOF

# within LIMIT...: all of it under these limits
within() {
	(
		ulimit "$@" || fail "ulimit $*"
		for options in "-f none" "-f dep" "-f dep06" "-f cf_bit" "-f call" "--sink=count"; do
			read -ra RECORD_OPTIONS <<<"$options"
			same_as_native ./many
			[ "$options" = "-f none" ] || check_good
		done
		RECORD_OPTIONS=()
		same_as_native bash reads.sh
		verify_clean ./many
	) || exit 1
}
within -v 1000000
within -v 300000 -d 290000
within -f 200000
(
	ulimit -S -v 300000
	ulimit -H -v 600000 # there is some room between the two
	same_as_native ./many
	same_as_native bash -c 'ulimit -v; ulimit -Hv'
) || exit 1
(
	ulimit -v 1000000
	native ./takes
	recorded ./takes
	[ $(($(cat recorded.out) + 256)) -ge "$(cat native.out)" ] || fail "of 1 GB the engine takes more than 256 MB: $(cat native.out recorded.out)"
) || exit 1
for limit in "-v 100000" "-d 50000" "-f 50000"; do
	(
		read -ra limit <<<"$limit"
		ulimit "${limit[@]}"
		one_sentence "$TW" record -q -o limited.tw true
		says "ulimit .*${limit[0]}"
	) || exit 1
done
