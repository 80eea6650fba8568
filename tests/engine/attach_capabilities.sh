# record --pid of a process that has given up capabilities of root's, as servers do once they have begun: it is taken as any other, and so is what it executes.
. "$(dirname "$0")/../lib.sh"
need_ptrace
[ "$(id -u)" = 0 ] || skip "only root has capabilities to give up"
cc_program server <<'END'
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct some[2];
	if (argc > 2)
		return puts("executed") == EOF;
	if (syscall(SYS_capget, &head, some))
		return 1;
	if (!strcmp(argv[1], "one"))
		some[0].effective &= ~(1u << CAP_SYS_TIME);
	else
		memset(some, 0, sizeof some);
	some[0].permitted = some[0].effective;
	if (syscall(SYS_capset, &head, some))
		return 2;
	puts("ready");
	fflush(stdout);
	while (access("go", F_OK))
		usleep(10000);
	execl(argv[0], argv[0], argv[1], "again", (char *)NULL);
	return 3;
}
END
for what in one all; do
	rm -f go
	start ./server $what
	attach
	touch go
	wait $PID
	status=$?
	wait $RECORDER || fail "$what: $(cat attached.err)"
	[ $status = 0 ] && grep -q '^executed$' native.out || fail "$what: status $status, $(cat native.out native.err)"
	check_good
	[ "$(info_value threads)" = 2 ] || fail "$what: what it executed is not recorded"
done
