#include "serve/serve.h"
#include "html/page_write.h"
#include "serve/ask.h"
#include "serve/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- listening ---- */

static socklen_t parse_address(const char *text, unsigned port, struct sockaddr_storage *to)
{
	struct sockaddr_in *four = (struct sockaddr_in *)to;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
	memset(to, 0, sizeof *to);
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons((uint16_t)port);
		return sizeof *four;
	}
	if (inet_pton(AF_INET6, text, &six->sin6_addr) != 1)
		return 0;
	six->sin6_family = AF_INET6;
	six->sin6_port = htons((uint16_t)port);
	return sizeof *six;
}

int tw_serve_is_loopback(const char *address)
{
	struct in_addr four;
	struct in6_addr six;
	if (inet_pton(AF_INET, address, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

static unsigned port_of(int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof a;
	if (getsockname(fd, (struct sockaddr *)&a, &n))
		return 0;
	return ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port : ((struct sockaddr_in6 *)&a)->sin6_port);
}

int tw_serve_listen(struct tw_server *s, const char *address, unsigned port)
{
	struct sockaddr_storage a;
	socklen_t n = parse_address(address, port, &a);
	int one = 1;
	s->fd = -1;
	if (!n || strlen(address) >= sizeof s->address)
		return EINVAL;
	int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&a, n) || listen(fd, 64)) {
		int error = errno;
		close(fd);
		return error;
	}
	s->fd = fd;
	s->port = port_of(fd);
	strcpy(s->address, address);
	return 0;
}

/* ---- who may ask ---- */

/* Whether "HOST:PORT" is this server, as a browser names it. */
static int is_own(const struct tw_server *s, const char *host)
{
	char own[3][96];
	snprintf(own[0], sizeof own[0], strchr(s->address, ':') ? "[%s]:%u" : "%s:%u", s->address, s->port);
	snprintf(own[1], sizeof own[1], "localhost:%u", s->port);
	snprintf(own[2], sizeof own[2], "127.0.0.1:%u", s->port);
	for (int i = 0; i < 3; i++)
		if (!strcmp(host, own[i]))
			return 1;
	return 0;
}

static int may_ask(const struct tw_server *s, const struct tw_http_request *r)
{
	const char *origin = strncmp(r->origin, "http://", 7) ? r->origin : r->origin + 7;
	if (!s->open && !is_own(s, r->host))
		return 0;
	return !r->origin[0] || !strcmp(origin, r->host);
}

/* ---- answers ---- */

/* One connection. Only one thread at a time makes pages and queries. */
struct connection {
	struct tw_server *server;
	int fd;
	struct tw_http_request request;
};

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static void say(struct connection *c, int status, const char *text)
{
	tw_http_answer(c->fd, &c->request, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* Sends what `make` prints; it returns 0 where there is nothing. */
static void send_made(struct connection *c, const char *type, int (*make)(struct connection *c, FILE *f))
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	int made = f && make(c, f);
	if (f && fclose(f))
		made = 0;
	if (made)
		tw_http_answer(c->fd, &c->request, 200, type, text, n);
	else
		say(c, f ? 404 : 500, f ? "there is no such function\n" : "there is no memory\n");
	free(text);
}

static int make_page(struct connection *c, FILE *f)
{
	tw_page_write(c->server->page, f, 1);
	return 1;
}

static int make_function(struct connection *c, FILE *f)
{
	const char *number = c->request.path + strlen("/function/");
	char *end;
	unsigned long long n = strtoull(number, &end, 10);
	if (*number < '0' || *number > '9' || *end)
		return 0;
	return tw_page_function(c->server->page, f, (size_t)n);
}

static void answer_question(struct connection *c)
{
	char *answer;
	size_t n;
	int good = tw_ask(c->server->database, c->request.body, &answer, &n);
	if (!answer)
		say(c, 500, "there is no memory\n");
	else
		tw_http_answer(c->fd, &c->request, good ? 200 : 400, good ? "application/json" : "text/plain; charset=utf-8", answer, n);
	free(answer);
}

static void answer(struct connection *c)
{
	const char *path = c->request.path, *method = c->request.method;
	int is_get = !strcmp(method, "GET") || !strcmp(method, "HEAD"), is_sql = !strcmp(path, "/sql");
	if (!may_ask(c->server, &c->request))
		say(c, 403, "this host or origin is not served\n");
	else if (strcmp(path, "/") && strncmp(path, "/function/", 10) && !is_sql)
		say(c, 404, "there is nothing here\n");
	else if (is_sql ? strcmp(method, "POST") : !is_get)
		say(c, 405, "not by this method\n");
	else if (is_sql)
		answer_question(c);
	else if (path[1])
		send_made(c, "application/json", make_function);
	else
		send_made(c, "text/html; charset=utf-8", make_page);
}

/* Closes a connection. Remaining input is read first, up to a limit: otherwise the other side would lose the answer. */
static void hang_up(int fd)
{
	char unread[4096];
	ssize_t n = 1;
	shutdown(fd, SHUT_WR);
	for (int i = 0; i < 64 && n > 0; i++)
		n = recv(fd, unread, sizeof unread, 0);
	close(fd);
}

static void *serve_one(void *arg)
{
	struct connection *c = arg;
	int status = tw_http_read(c->fd, &c->request);
	pthread_mutex_lock(&making);
	if (!status)
		answer(c);
	pthread_mutex_unlock(&making);
	if (status > 0)
		say(c, status, "this request cannot be understood\n");
	tw_http_free(&c->request);
	hang_up(c->fd);
	free(c);
	return NULL;
}

/* Nobody may keep a connection open for long without saying something. */
static void begin(struct tw_server *s, int fd)
{
	const struct timeval patience = {.tv_sec = 10};
	struct connection *c = calloc(1, sizeof *c);
	pthread_t thread;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (c)
		*c = (struct connection){.server = s, .fd = fd};
	if (!c || pthread_create(&thread, NULL, serve_one, c)) {
		free(c);
		close(fd);
		return;
	}
	pthread_detach(thread);
}

int tw_serve_run(struct tw_server *s)
{
	for (;;) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			begin(s, fd);
		else if (errno != EINTR && errno != ECONNABORTED && errno != EMFILE && errno != ENFILE)
			return errno;
	}
}
