/*
 * Serves the page of a recording (html/page.h) and its queries over HTTP to a browser on this machine.
 *
 *     GET /              the page
 *     GET /function/N    the code of function N
 *     POST /sql          the answer to a statement, as JSON
 *
 * Nothing else is read: no path of a request ever becomes a file's. Requests that name another host than the one
 * served, or come from a page of another origin, are refused (403), so that a foreign page in the same browser cannot
 * ask. What is not HTTP is answered with 400.
 */
#ifndef TW_SERVE_H
#define TW_SERVE_H

#include "html/page.h"
#include "sql/database.h"

struct tw_server {
	struct tw_page *page;
	struct tw_database *database;
	int open; /* 1: any host name is accepted: the user has asked to serve others, too */
	int fd;   /* listening; -1: none */
	unsigned port;
	char address[64];
};

/* Listens on a numeric address; port 0: any free one. 0, or an errno; EINVAL: not an address. */
int tw_serve_listen(struct tw_server *s, const char *address, unsigned port);

/* Whether an address is one of this machine alone. */
int tw_serve_is_loopback(const char *address);

/* Serves until the process is ended. Returns an errno. */
int tw_serve_run(struct tw_server *s);

#endif
