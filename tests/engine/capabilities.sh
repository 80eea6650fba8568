# Processes that give up the capabilities of root, as a browser's sandbox does, are recorded as others are: what they execute, and they leave their translations.
. "$(dirname "$0")/../lib.sh"
KEPT=$XDG_CACHE_HOME/trackway/translations
[ "$(id -u)" = 0 ] || skip "only root has capabilities to give up"

# Many small functions, which the child calls, without capabilities; it then executes what it is told to.
{
	cat <<'C'
#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
C
	for i in $(seq 1500); do echo "static int __attribute__((noinline)) f$i(int n) { return n % $i ? n + $i : n - $i; }"; done
	echo 'static int (*const f[])(int) = {'
	for i in $(seq 1500); do echo "f$i,"; done
	cat <<'C'
};
int main(int argc, char **argv)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}};
	int sum = 0, status;
	if (fork()) {
		wait(&status);
		return WEXITSTATUS(status);
	}
	if (syscall(SYS_capset, &head, none))
		return 99;
	for (unsigned i = 0; i < sizeof f / sizeof *f; i++)
		sum = f[i](sum) & 0xffff;
	printf("%d\n", sum);
	fflush(stdout);
	if (argc > 1)
		execv(argv[1], argv + 1);
	return 5;
}
C
} | cc_program prog -O1
sleep 4.2 # so old that it has an identity

./prog >native.out
for format in none dep; do
	"$TW" record -q -f $format -o r.tw ./prog >ours.out
	[ $? = 5 ] || fail "$format: another status"
	cmp native.out ours.out || fail "$format: other output"
	made=$("$TW" kept | awk -v f=$format -v p="$PWD/prog" '$5 == f && $NF == p { print $4 }')
	[ "${made:-0}" -ge 1500 ] || fail "$format: ${made:-no} fragments are kept"
done

./prog /bin/echo executed >native.out
"$TW" record -q --verify -o r.tw ./prog /bin/echo executed >ours.out 2>ours.err || fail "execute: $(cat ours.err)"
cmp native.out ours.out || fail "execute: other output"
"$TW" report --processes r.tw >list.out 2>&1 || "$TW" info r.tw >list.out
grep -q 'echo' list.out || fail "what it executes is not recorded: $(cat list.out)"
