#include "report/printable.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void tw_print_safe(FILE *f, const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			fprintf(f, "\\x%02x", (unsigned char)*s);
		else
			fputc(*s, f);
	}
}

static int is_plain_word(const char *s)
{
	return *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%^")];
}

/* One argument, quoted for a shell where it must be. */
static void print_argument(FILE *f, const char *s)
{
	if (is_plain_word(s)) {
		fputs(s, f);
		return;
	}
	fputc('\'', f);
	for (; *s; s++) {
		char one[2] = {*s, 0};
		if (*s == '\'')
			fputs("'\\''", f);
		else
			tw_print_safe(f, one);
	}
	fputc('\'', f);
}

void tw_print_command(FILE *f, const char *const *argv)
{
	for (const char *const *word = argv; *word; word++) {
		if (word != argv)
			fputc(' ', f);
		print_argument(f, *word);
	}
}

/* Whether a character begins here, and not within a UTF-8 sequence. */
static int begins(const char *s)
{
	return ((unsigned char)*s & 0xc0) != 0x80;
}

/* The bytes that the first so many columns take. */
static size_t bytes_of(const char *s, unsigned columns)
{
	size_t n = 0;
	for (unsigned seen = 0; s[n]; n++) {
		if (begins(s + n) && seen++ == columns)
			break;
	}
	return n;
}

unsigned tw_terminal_columns(FILE *f)
{
	struct winsize size;
	if (!isatty(fileno(f)))
		return 0;
	return !ioctl(fileno(f), TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
}

void tw_print_cut(FILE *f, const char *s, unsigned columns)
{
	size_t n = bytes_of(s, columns);
	if (!s[n])
		fputs(s, f);
	else
		fprintf(f, "%.*s..", (int)bytes_of(s, columns > 2 ? columns - 2 : 0), s);
}

const char *tw_scaled(uint64_t n, char to[16])
{
	static const char units[] = " kMGTPE";
	double v = (double)n;
	int unit = 0;
	for (; v >= 999.5 && unit < 6; unit++)
		v /= 1000;
	if (!unit)
		snprintf(to, 16, "%llu", (unsigned long long)n);
	else
		snprintf(to, 16, "%.*f%c", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[unit]);
	return to;
}

const char *tw_grouped(uint64_t n, char to[32])
{
	char digits[32];
	int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			to[at++] = ',';
		to[at++] = digits[i];
	}
	to[at] = 0;
	return to;
}

const char *tw_percent(uint64_t part, uint64_t whole, char to[32])
{
	const double percent = whole ? 100.0 * (double)part / (double)whole : 100;
	if (percent > 0 && percent < 0.001)
		snprintf(to, 32, "less than 0.001%%");
	else
		snprintf(to, 32, "%.3g%%", percent);
	return to;
}
