# Wide characters that no locale can have, in every conversion to bytes: what is converted, what is left and errno are as natively. One project's own test
# of them failed under the engine once; what it had called was never found.
. "$(dirname "$0")/../lib.sh"
cc_program wide <<'END'
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
static const wchar_t text[][4] = {{L'a', 0xd800}, {0x110000}, {-1}, {L'a', L'b', 0x7fffffff}, {0x80}, {0xff}, {0x20ac}, {0xdfff}};
static void convert(const wchar_t *all, char *out, size_t room)
{
	const wchar_t *rest = all;
	mbstate_t state = {0};
	errno = 0;
	printf(" %zd", (ssize_t)wcsrtombs(out, &rest, room, &state));
	printf(" %d, %td left;", errno, rest ? rest - all : -1);
	rest = all;
	memset(&state, 0, sizeof state);
	errno = 0;
	printf(" %zd", (ssize_t)wcsnrtombs(out, &rest, 3, room, &state));
	printf(" %d;", errno);
	errno = 0;
	printf(" %zd", (ssize_t)wcstombs(out, all, room));
	printf(" %d\n", errno);
}
int main(void)
{
	static const char *const locale[] = {"C", "C.UTF-8", "en_US.UTF-8", ""};
	for (int l = 0; l < 4; l++) {
		if (!setlocale(LC_ALL, locale[l]))
			continue;
		for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
			char one[16], out[32];
			mbstate_t state = {0};
			errno = 0;
			printf("%s %zu: %zd", locale[l], i, (ssize_t)wcrtomb(one, text[i][0], &state));
			printf(" %d, %d\n", errno, wctob((wint_t)text[i][0]));
			for (size_t room = 0; room < 8; room++) {
				convert(text[i], NULL, room);
				memset(out, 'x', sizeof out);
				convert(text[i], out, room);
				printf("%.8s\n", out);
			}
		}
	}
	return 0;
}
END
./wide >native || fail "the program fails natively"
grep -q -- ' -1 84' native || fail "natively no wide character is refused"
for format in none dep-c dep call; do
	"$TW" record -q -f $format -o "$format.tw" ./wide >recorded || fail "format $format: status $?"
	cmp native recorded || fail "format $format: converted otherwise"
done
"$TW" record -q --verify ./wide | cmp native - || fail "with --verify: converted otherwise"
