#include "cc/statement.h"

size_t tw_cc_string_end(const char *bytes, size_t n, size_t p)
{
	for (p++; p < n && bytes[p] != '"' && bytes[p] != '\n'; p++)
		p += bytes[p] == '\\' && p + 1 < n;
	return p < n && bytes[p] == '"' ? p + 1 : p;
}

size_t tw_cc_statement_end(const char *bytes, size_t n, size_t p)
{
	while (p < n) {
		char ch = bytes[p];
		if (ch == '\n' || ch == ';' || ch == '#' || (ch == '/' && bytes[p + 1] == '*'))
			return p;
		if (ch == '"')
			p = tw_cc_string_end(bytes, n, p);
		else if (ch == '\'' && p + 1 < n && bytes[p + 1] != '\n')
			p += bytes[p + 1] == '\\' ? 3 : 2;
		else
			p++;
	}
	return p;
}
