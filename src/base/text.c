#include "base/text.h"
#include "base/array.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 18 };

void tw_text_init(struct tw_text *t, int fd)
{
	*t = (struct tw_text){.fd = fd};
}

void tw_text_free(struct tw_text *t)
{
	free(t->bytes);
	t->bytes = NULL;
	t->n = t->room = 0;
}

void tw_text_flush(struct tw_text *t, int fd)
{
	for (size_t done = 0; done < t->n && !t->error;) {
		ssize_t n = write(fd, t->bytes + done, t->n - done);
		if (n < 0 && errno != EINTR)
			t->error = errno;
		else if (n > 0)
			done += (size_t)n;
	}
	t->n = 0;
}

static void grow(struct tw_text *t, size_t n)
{
	char *bytes = tw_array_room(t->bytes, t->n + n, &t->room, 1);
	if (bytes)
		t->bytes = bytes;
	else
		t->error = ENOMEM;
}

char *tw_text_room(struct tw_text *t, size_t n)
{
	if (t->fd >= 0 && t->n >= PIECE)
		tw_text_flush(t, t->fd);
	if (t->room - t->n < n)
		grow(t, n);
	return t->error ? NULL : t->bytes + t->n;
}

void tw_text_put(struct tw_text *t, const char *bytes, size_t n)
{
	char *to = tw_text_room(t, n);
	if (!to)
		return;
	memcpy(to, bytes, n);
	t->n += n;
}

void tw_text_printf(struct tw_text *t, const char *format, ...)
{
	enum { LINE = 4096 };
	va_list args;
	char *to = tw_text_room(t, LINE);
	if (!to)
		return;
	va_start(args, format);
	int n = vsnprintf(to, LINE, format, args);
	va_end(args);
	t->n += n < LINE ? (size_t)n : LINE - 1;
}

void tw_text_safe(struct tw_text *t, const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			tw_text_printf(t, "\\x%02x", (unsigned char)*s);
		else
			tw_text_put(t, s, 1);
	}
}

char *tw_put_hex(char *p, uint64_t v, unsigned width)
{
	unsigned digits = (67 - (unsigned)__builtin_clzll(v | 1)) / 4;
	if (digits < width)
		digits = width;
	for (unsigned i = digits; i-- > 0; v >>= 4)
		p[i] = "0123456789abcdef"[v & 15];
	return p + digits;
}

char *tw_put_decimal(char *p, uint64_t v)
{
	char digits[20];
	unsigned n = 0;
	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		*p++ = digits[--n];
	return p;
}

unsigned tw_utf8_length(const unsigned char *s)
{
	unsigned n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

int tw_has_suffix(const char *name, const char *suffix)
{
	const size_t n = strlen(name), of = strlen(suffix);
	return n > of && !strcmp(name + n - of, suffix);
}

int tw_parse_bytes(const char *text, uint64_t *bytes)
{
	static const char units[] = "kMG";
	char *end;
	errno = 0;
	const unsigned long long n = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	*bytes = n << shift;
	return *text >= '0' && *text <= '9' && !errno && (!*end || (unit && !end[1])) && n <= UINT64_MAX >> shift;
}
