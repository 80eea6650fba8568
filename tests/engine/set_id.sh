# Programs that are set-uid and set-gid for who runs them anyway, as nearly all are that root runs: they are recorded, executed by a recorded program, too, and have what they have natively.
# Where the bits change something the program runs natively with the rights that they give, and the recording says so.
. "$(dirname "$0")/../lib.sh"
cc_program rights -D_GNU_SOURCE <<'END2'
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	uid_t u[3];
	gid_t g[3];
	getresuid(&u[0], &u[1], &u[2]);
	getresgid(&g[0], &g[1], &g[2]);
	printf("%u %u %u, %u %u %u, secure %lu, dumpable %d, fixed %d\n", u[0], u[1], u[2], g[0], g[1], g[2], getauxval(AT_SECURE),
	       prctl(PR_GET_DUMPABLE), personality(0xffffffff) & ADDR_NO_RANDOMIZE);
	fflush(stdout);
	if (argc > 1)
		execv(argv[1], argv + 1);
	return argc > 1;
}
END2
cp rights own && chmod 6755 own
whole ./own
whole ./rights ./own ./rights
"$TW" record -q -o r.tw ./rights ./own >/dev/null || fail "it is not recorded"
"$TW" dump --raw r.tw >raw
grep -q "set-uid" raw && fail "one that changes nothing ran natively"
if fixed_addresses; then
	"$TW" record -q setarch -R ./own >out || fail "with fixed addresses"
	setarch -R ./own | cmp -s - out || fail "with fixed addresses: $(cat out)"
fi
cp rights other && chmod 755 .
if [ "$(id -u)" = 0 ] && chown 65534:65534 other 2>/dev/null && chmod 6755 other; then
	./rights ./other >native
	"$TW" record -q -o o.tw ./rights ./other >out || fail "another's"
	cmp native out || fail "another's runs otherwise"
	"$TW" dump --raw o.tw | grep -q "set-uid" || fail "it is not said that another's ran natively"
else
	untested "programs that are another user's and set-uid"
fi
