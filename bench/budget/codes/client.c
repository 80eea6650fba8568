/*
 * A client of a web server, of one thread, so that it costs the server little of its processors: client PORT CONNECTIONS REQUESTS BYTES
 *
 * Each connection asks for /page.txt, a page of BYTES, again and again. Prints what bench/budget/servers reads: requests per second, and the latency in ms of 50, 99 and 99.9 of 100.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char request[] = "GET /page.txt HTTP/1.1\r\nHost: x\r\n\r\n";

struct connection {
	double asked;
	size_t got;
	char head[4096]; /* the first bytes of the answer */
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int open_to(int port)
{
	const struct sockaddr_in to = {
	    .sin_family = AF_INET, .sin_port = htons((unsigned short)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to))
		fail("connect");
	return fd;
}

static void ask(struct connection *c, int fd)
{
	c->asked = now();
	c->got = 0;
	if (write(fd, request, sizeof request - 1) != sizeof request - 1)
		fail("write");
}

/* What there is to be read. Returns whether the answer is whole. */
static int take(struct connection *c, int fd, size_t page)
{
	char bytes[65536];
	const ssize_t n = read(fd, bytes, sizeof bytes);
	if (n <= 0)
		fail("read");
	if (c->got < sizeof c->head) {
		const size_t room = sizeof c->head - 1 - c->got;
		memcpy(c->head + c->got, bytes, (size_t)n < room ? (size_t)n : room);
	}
	c->got += (size_t)n;
	c->head[c->got < sizeof c->head - 1 ? c->got : sizeof c->head - 1] = 0;
	const char *end = strstr(c->head, "\r\n\r\n");
	return end && c->got == (size_t)(end + 4 - c->head) + page;
}

static int by_value(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	const int port = atoi(argv[1]), n = atoi(argv[2]), requests = atoi(argv[3]);
	const size_t page = (size_t)atol(argv[4]);
	struct connection *c = calloc((size_t)n, sizeof *c);
	struct pollfd *p = calloc((size_t)n, sizeof *p);
	double *took = calloc((size_t)requests, sizeof *took);
	int asked = 0, done = 0;
	if (!c || !p || !took)
		fail("memory");
	const double began = now();
	for (int i = 0; i < n && asked < requests; i++, asked++) {
		p[i] = (struct pollfd){open_to(port), POLLIN, 0};
		ask(&c[i], p[i].fd);
	}
	while (done < requests) {
		if (poll(p, (nfds_t)(asked < n ? asked : n), -1) < 0)
			fail("poll");
		for (int i = 0; i < n; i++) {
			if (!p[i].revents || !take(&c[i], p[i].fd, page))
				continue;
			took[done++] = now() - c[i].asked;
			if (asked++ < requests)
				ask(&c[i], p[i].fd);
		}
	}
	printf("rate %f\n", done / (now() - began) * 1e3);
	qsort(took, (size_t)done, sizeof *took, by_value);
	for (int k = 0; k < 3; k++) {
		const double share = (const double[]){50, 99, 99.9}[k];
		printf("p %g %f\n", share, took[(int)(done * share / 100) < done ? (int)(done * share / 100) : done - 1]);
	}
	return 0;
}
