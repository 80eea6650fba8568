/* Numbers of names: in order, the same for the same text, and many. */
#include "names/texts.h"
#include "unit.h"

int main(void)
{
	struct tw_texts names = {0};
	char text[32];
	EQUAL(tw_texts_number(&names, "a"), 0);
	EQUAL(tw_texts_number(&names, ""), 1);
	EQUAL(tw_texts_number(&names, "a"), 0);
	for (unsigned round = 0; round < 2; round++) {
		unsigned wrong = 0;
		for (unsigned i = 0; i < 5000; i++) {
			snprintf(text, sizeof text, "name %u", i);
			wrong += tw_texts_number(&names, text) != i + 2;
		}
		EQUAL(wrong, 0);
	}
	EQUAL(names.n, 5002);
	SAME_TEXT(names.items[0], "a");
	SAME_TEXT(names.items[5001], "name 4999");
	tw_texts_free(&names);
	EQUAL(names.n, 0);
	return UNIT_END();
}
