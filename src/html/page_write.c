#include "html/page_write.h"
#include "html/assets.h"
#include "html/page_data.h"

#include <string.h>

/* Writes a text of the page up to a mark; returns what follows the mark. */
static const char *put_until(FILE *f, const char *text, const char *mark)
{
	const char *at = strstr(text, mark);
	fwrite(text, 1, at ? (size_t)(at - text) : strlen(text), f);
	return at ? at + strlen(mark) : text + strlen(text);
}

void tw_page_write(struct tw_page *p, FILE *f, int served)
{
	const char *rest = put_until(f, tw_asset_page, "/*STYLE*/");
	fputs(tw_asset_style, f);
	rest = put_until(f, rest, "/*DATA*/");
	tw_page_data(p, f, served);
	rest = put_until(f, rest, "/*SCRIPT*/");
	fputs(tw_asset_script, f);
	fputs(rest, f);
}
