#include "plugin/answer.h"
#include "unit.h"

#include <stdlib.h>

static const struct tw_column places[] = {{"thread", TW_COLUMN_COUNT}, {"instruction", TW_COLUMN_COUNT}, {"after", TW_COLUMN_TEXT},
                                          {"old", TW_COLUMN_TEXT},     {"new", TW_COLUMN_TEXT},          {NULL, 0}};

/* The table of one row, as text; to be freed. */
static char *wide_table_of(const struct tw_column *columns, const struct tw_cell *cells, unsigned width)
{
	char *text = NULL, *known;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	const struct tw_answer_options options = {f, TW_ANSWER_TEXT, NULL, -1, "test", width};
	struct tw_answer *a = tw_answer_new(&options);
	tw_answer_table(a, "rows", "Rows", columns);
	tw_answer_row(a, cells);
	EQUAL(tw_answer_end(a, &known), 0);
	fclose(f);
	return text;
}

static char *table_of(const struct tw_column *columns, const struct tw_cell *cells)
{
	return wide_table_of(columns, cells, 80);
}

/* The most columns that a line takes. */
static size_t widest(const char *text)
{
	size_t most = 0;
	for (const char *end; *text; text = *end ? end + 1 : end) {
		end = text + strcspn(text, "\n");
		most = (size_t)(end - text) > most ? (size_t)(end - text) : most;
	}
	return most;
}

/* Long texts share the room evenly, and of a place the file and the line are whole. */
static void test_places(void)
{
	char *shown = table_of(places, (struct tw_cell[]){{.count = 0},
	                                                  {.count = 107840},
	                                                  {.text = "a_function_with_a_very_long_name odd.c:433"},
	                                                  {.text = "a_function_with_a_very_long_name odd.c:477"},
	                                                  {.text = "std::map<int, std::less<int> >::find(int) odd.c:478"}});
	CHECK(widest(shown) <= 80);
	CHECK(strstr(shown, ".. odd.c:433") && strstr(shown, ".. odd.c:477") && strstr(shown, ".. odd.c:478"));
	free(shown);
}

/* On a wider terminal there is more of them. */
static void test_wide(void)
{
	static const char name[] = "std::map<int, std::less<int>, std::allocator<std::pair<int const, int> > >::find(int) odd.c:478";
	const struct tw_cell cells[] = {{.count = 0}, {.count = 107840}, {.text = "main a.c:1"}, {.text = "main a.c:2"}, {.text = name}};
	char *shown = wide_table_of(places, cells, 100);
	CHECK(widest(shown) == 100 && strstr(shown, ".. odd.c:478"));
	free(shown);
	shown = wide_table_of(places, cells, 40); /* too narrow for a table */
	CHECK(widest(shown) == 80);
	free(shown);
	shown = wide_table_of(places, cells, 0); /* no terminal */
	CHECK(widest(shown) == 80 && strstr(shown, ".. odd.c:478"));
	free(shown);
}

/* Short texts have what they want, and the long one the rest. */
static void test_one_long(void)
{
	char *shown = table_of(places, (struct tw_cell[]){{.count = 0},
	                                                  {.count = 107840},
	                                                  {.text = "main a.c:1"},
	                                                  {.text = "main a.c:2"},
	                                                  {.text = "a_function_with_a_long_name_that_fits odd.c:478"}});
	CHECK(widest(shown) <= 80);
	CHECK(strstr(shown, "  main a.c:1  main a.c:2  a_function_with") && strstr(shown, ".. odd.c:478"));
	free(shown);
	shown = table_of(
	    places, (struct tw_cell[]){{.count = 0}, {.count = 107840}, {.text = "-"}, {.text = "main a.c:2"}, {.text = "main a.c:3"}});
	CHECK(strstr(shown, "     0      107,840  -      main a.c:2  main a.c:3\n"));
	free(shown);
}

/* The calls of a path keep their places, too. */
static void test_path(void)
{
	static const struct tw_column columns[] = {{"count", TW_COLUMN_COUNT}, {"path", TW_COLUMN_TEXT}, {NULL, 0}};
	char *shown = table_of(
	    columns, (struct tw_cell[]){
	                 {.count = 1},
	                 {.text = "std::vector<std::pair<int, std::string>, std::allocator<std::pair<int, std::string> > >::push_back "
	                          "stl_vector.h:1287 < main a.cc:13"}});
	CHECK(widest(shown) <= 80);
	CHECK(strstr(shown, ".. stl_vector.h:1287 <\n        main a.cc:13\n"));
	free(shown);
}

/* Where next to nothing is left for the last column, a place has a line of its own. */
static void test_no_room(void)
{
	static const struct tw_column columns[] = {
	    {"a_column_whose_name_leaves_little_for_the_one_that_comes_behind_it", TW_COLUMN_COUNT}, {"place", TW_COLUMN_TEXT}, {NULL, 0}};
	char *shown = table_of(columns, (struct tw_cell[]){{.count = 1}, {.text = "pthread_mutex_lock pthread_mutex_lock.c:80"}});
	CHECK(strstr(shown, "\n        pthread_mutex_lock pthread_mutex_lock.c:80\n") && widest(shown) <= 80);
	free(shown);
}

/* An address that does not fit is whole on a line of its own. */
static void test_address(void)
{
	static const struct tw_column columns[] = {
	    {"a_column_whose_name_leaves_next_to_nothing_for_the_one_that_comes_behind_it", TW_COLUMN_COUNT},
	    {"lock", TW_COLUMN_TEXT},
	    {NULL, 0}};
	char *shown = table_of(columns, (struct tw_cell[]){{.count = 1}, {.text = "0x555570186b68"}});
	CHECK(strstr(shown, "1\n        0x555570186b68\n"));
	free(shown);
}

int main(void)
{
	test_places();
	test_wide();
	test_one_long();
	test_path();
	test_no_room();
	test_address();
	return UNIT_END();
}
