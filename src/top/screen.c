#include "top/screen.h"
#include "base/text.h"
#include "names/places.h"
#include "report/printable.h"
#include "top/rows.h"

#include <curses.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static const char *const help_lines[] = {
    "f  functions        b  blocks           l  source lines",
    "up, down, PgUp, PgDn, Home, End (or k, j, space, g, G): move",
    "Enter or right: the function's source and instructions",
    "left, Backspace or Esc: back",
    "/  show only rows with a text (empty: all)",
    "s  sort by the next column",
    "q  end",
    NULL,
};

/* What is shown: one of the lists, or a function. */
struct screen {
	const char *dir;
	struct tw_snapshot *snapshot;
	struct tw_top_rows rows;
	enum tw_top_list list, before; /* before: where one goes back to from a function */
	unsigned sort;
	char filter[80];
	char function[300], module[300]; /* that is shown: found again in the next snapshot */
	size_t at, top;                  /* the row chosen; the first one shown */
	size_t at_before, top_before;
	int help;
};

/* ---- rows ---- */

static void make_rows(struct screen *s)
{
	tw_top_rows_free(&s->rows);
	if (s->list == TW_TOP_FUNCTION)
		tw_top_function(s->snapshot, s->function, s->module, &s->rows);
	else
		tw_top_list(s->snapshot, s->list, s->sort, s->filter, &s->rows);
	if (s->at >= s->rows.n)
		s->at = s->rows.n ? s->rows.n - 1 : 0;
}

static void show_list(struct screen *s, enum tw_top_list list)
{
	s->list = list;
	s->at = s->top = s->sort = 0;
	make_rows(s);
}

static void enter(struct screen *s)
{
	const struct tw_top_row *row = s->at < s->rows.n ? &s->rows.items[s->at] : NULL;
	if (!row || s->list == TW_TOP_FUNCTION || row->function == UINT32_MAX)
		return;
	const struct tw_listing_function *f = &s->snapshot->listing.functions[row->function];
	snprintf(s->function, sizeof s->function, "%s", f->name);
	snprintf(s->module, sizeof s->module, "%s", f->module);
	s->before = s->list;
	s->at_before = s->at;
	s->top_before = s->top;
	s->list = TW_TOP_FUNCTION;
	s->at = s->top = 0;
	make_rows(s);
	s->at = s->rows.hottest;
}

static void back(struct screen *s)
{
	if (s->list != TW_TOP_FUNCTION)
		return;
	s->list = s->before;
	make_rows(s);
	s->at = s->at_before < s->rows.n ? s->at_before : 0;
	s->top = s->top_before;
}

/* ---- drawing ---- */

/* A text from a recorded program, made safe, up to the end of the line. */
static void put(int y, const char *text)
{
	struct tw_text safe;
	tw_text_init(&safe, -1);
	tw_text_safe(&safe, text);
	if (!safe.error)
		mvaddnstr(y, 0, safe.bytes, (int)safe.n < 4 * COLS ? (int)safe.n : 4 * COLS);
	tw_text_free(&safe);
	clrtoeol();
}

static void draw_head(const struct screen *s)
{
	static const char *const titles[] = {"functions", "blocks", "source lines", ""};
	char text[1024], n[32];
	if (!s->snapshot) {
		put(0, "reading ...");
		return;
	}
	snprintf(text, sizeof text, " %s: %s instructions%s   %s%s%s%s%s", s->dir, tw_grouped(s->snapshot->insns, n),
	         s->snapshot->complete ? "" : ", still recording", titles[s->list], s->list == TW_TOP_FUNCTION ? s->function : "",
	         s->filter[0] ? " with \"" : "", s->filter, s->filter[0] ? "\"" : "");
	attron(A_REVERSE);
	put(0, text);
	mvchgat(0, 0, -1, A_REVERSE, 0, NULL);
	attroff(A_REVERSE);
	attron(A_BOLD);
	put(1, s->rows.head);
	attroff(A_BOLD);
}

static void draw_rows(struct screen *s)
{
	size_t height = LINES > 4 ? (size_t)LINES - 3 : 1;
	if (s->at < s->top)
		s->top = s->at;
	if (s->at >= s->top + height)
		s->top = s->at - height + 1;
	for (size_t i = 0; i < height; i++) {
		int y = (int)i + 2;
		size_t row = s->top + i;
		if (row < s->rows.n)
			put(y, s->rows.items[row].text);
		else
			put(y, "");
		if (row < s->rows.n && s->rows.items[row].source)
			mvchgat(y, 0, -1, A_BOLD, 0, NULL);
		if (row < s->rows.n && row == s->at)
			mvchgat(y, 0, -1, A_REVERSE, 0, NULL);
	}
}

static void draw_help(void)
{
	for (int i = 0; help_lines[i]; i++)
		put(3 + i, help_lines[i]);
}

static void draw(struct screen *s)
{
	char foot[64];
	erase();
	draw_head(s);
	if (s->snapshot && !s->help)
		draw_rows(s);
	if (s->help)
		draw_help();
	snprintf(foot, sizeof foot, "%zu of %zu", s->rows.n ? s->at + 1 : 0, s->rows.n);
	mvaddnstr(LINES - 1, 0, "f functions  b blocks  l lines  Enter code  / find  ? keys  q end", COLS - 20);
	if (COLS > 20)
		mvaddstr(LINES - 1, COLS - (int)strlen(foot) - 1, foot);
	refresh();
}

/* ---- keys ---- */

static void ask_filter(struct screen *s)
{
	timeout(-1);
	echo();
	curs_set(1);
	mvaddstr(LINES - 1, 0, "/");
	clrtoeol();
	if (getnstr(s->filter, sizeof s->filter - 1) == ERR)
		s->filter[0] = 0;
	noecho();
	curs_set(0);
	timeout(250);
	if (s->list == TW_TOP_FUNCTION)
		s->list = s->before;
	s->at = s->top = 0;
	make_rows(s);
}

static void move_by(struct screen *s, long rows)
{
	long at = (long)s->at + rows, last = (long)s->rows.n - 1;
	s->at = (size_t)(at < 0 ? 0 : at > last ? (last < 0 ? 0 : last) : at);
}

static int move_key(struct screen *s, int key)
{
	long page = LINES > 4 ? LINES - 4 : 1;
	switch (key) {
	case KEY_UP:
	case 'k':
		move_by(s, -1);
		return 1;
	case KEY_DOWN:
	case 'j':
		move_by(s, 1);
		return 1;
	case KEY_PPAGE:
		move_by(s, -page);
		return 1;
	case KEY_NPAGE:
	case ' ':
		move_by(s, page);
		return 1;
	case KEY_HOME:
	case 'g':
		s->at = 0;
		return 1;
	case KEY_END:
	case 'G':
		s->at = s->rows.n ? s->rows.n - 1 : 0;
		return 1;
	default:
		return 0;
	}
}

static void list_key(struct screen *s, int key)
{
	switch (key) {
	case 'f':
		show_list(s, TW_TOP_FUNCTIONS);
		break;
	case 'b':
		show_list(s, TW_TOP_BLOCKS);
		break;
	case 'l':
		show_list(s, TW_TOP_LINES);
		break;
	case 's':
		s->sort = (s->sort + 1) % TW_TOP_SORTS;
		make_rows(s);
		break;
	case '/':
		ask_filter(s);
		break;
	case '\n':
	case KEY_ENTER:
	case KEY_RIGHT:
		enter(s);
		break;
	case KEY_LEFT:
	case KEY_BACKSPACE:
	case 127:
	case 27:
		back(s);
		break;
	default:
		break;
	}
}

/* ---- the loop ---- */

/* A newer snapshot replaces the one that is shown. */
static void take(struct screen *s, struct tw_snapshot *newer)
{
	struct tw_snapshot *old = s->snapshot;
	s->snapshot = newer;
	make_rows(s);
	tw_snapshot_free(old);
}

static int loop(struct screen *s, struct tw_follower *follower)
{
	for (;;) {
		int error;
		struct tw_snapshot *newer = tw_follower_take(follower, &error);
		if (newer)
			take(s, newer);
		if (error && !s->snapshot)
			return error;
		draw(s);
		int key = getch();
		if (key == 'q' || key == 3)
			return 0;
		if (s->help && key != ERR)
			s->help = 0;
		else if (key == '?' || key == 'h')
			s->help = 1;
		else if (s->snapshot && key != ERR && !move_key(s, key))
			list_key(s, key);
	}
}

int tw_screen_run(struct tw_follower *follower, const char *dir)
{
	struct screen s = {.dir = tw_base_name(dir)};
	setlocale(LC_ALL, "");
	initscr();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	timeout(250);
	int error = loop(&s, follower);
	endwin();
	tw_top_rows_free(&s.rows);
	tw_snapshot_free(s.snapshot);
	return error;
}
