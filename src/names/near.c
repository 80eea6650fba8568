#include "names/near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 120 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned tw_near_distance(const char *a, const char *b, unsigned most)
{
	const size_t n = strlen(a), m = strlen(b);
	unsigned row[3][LONGEST + 1], *two = row[0], *one = row[1], *now = row[2];
	if (n > LONGEST || m > LONGEST || (n > m ? n - m : m - n) > most)
		return most + 1;
	for (unsigned k = 0; k <= m; k++)
		one[k] = k;
	for (size_t i = 1; i <= n; i++) {
		now[0] = (unsigned)i;
		for (size_t k = 1; k <= m; k++) {
			now[k] = least(least(one[k], now[k - 1]) + 1, one[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				now[k] = least(now[k], two[k - 2] + 1);
		}
		unsigned *oldest = two;
		two = one;
		one = now;
		now = oldest;
	}
	return least(one[m], most + 1);
}

void tw_near_note(struct tw_near *near, const char *name)
{
	const unsigned most = strlen(near->wanted) > 5 ? 3 : 2, d = tw_near_distance(near->wanted, name, most);
	int at = 0;
	for (int i = 0; i < TW_NEAR; i++)
		if (near->name[i] && !strcmp(near->name[i], name))
			return;
	while (at < TW_NEAR && near->name[at] && near->distance[at] <= d)
		at++;
	char *copy = d <= most && at < TW_NEAR ? strdup(name) : NULL;
	if (!copy)
		return;
	free(near->name[TW_NEAR - 1]);
	for (int i = TW_NEAR - 1; i > at; i--) {
		near->name[i] = near->name[i - 1];
		near->distance[i] = near->distance[i - 1];
	}
	near->name[at] = copy;
	near->distance[at] = d;
}

void tw_near_tell(const struct tw_near *near, char *to, size_t size)
{
	char *end = to + size;
	*to = 0;
	for (int i = 0; i < TW_NEAR && near->name[i] && to < end; i++)
		to += snprintf(to, (size_t)(end - to), "%s%s", i ? ", " : "", near->name[i]);
}

void tw_near_free(struct tw_near *near)
{
	for (int i = 0; i < TW_NEAR; i++)
		free(near->name[i]);
}
