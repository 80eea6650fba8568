# serve: the page, code of functions and answers to questions over HTTP, to this machine only; what is malformed, foreign or not to be read is refused.
# timeout: 200
. "$(dirname "$0")/../lib.sh"
cc_program loop -O1 -g <<'END'
#include <stdio.h>
static int table[64];
int main(void)
{
	for (int i = 0; i < 1000; i++)
		table[i & 63] += i;
	printf("%d\n", table[7]);
	return 0;
}
END
recorded ./loop
for wrong in '--listen 0.0.0.0' '--listen 10.1.2.3' '--listen nowhere' '--listen ::' '--port 70000' '--port x'; do
	run out err "$TW" serve $wrong recording.tw
	[ $? = 2 ] || fail "$wrong is taken"
done
run out err "$TW" serve --listen nowhere --i-know recording.tw && fail "no address"
grep -q 'not a numeric address' err || fail "what is said: $(cat err)"
"$TW" serve --port 0 recording.tw >out 2>err </dev/null &
server=$!
CLEANUP+=('kill $server 2>/dev/null')
for _ in $(seq 600); do
	[ -s out ] && break
	kill -0 $server 2>/dev/null || fail "it ended: $(cat err)"
	sleep 0.1
done
cat >ask.py <<'END'
import http.client, json, re, socket, sys, threading
port = int(re.search(r"^http://127\.0\.0\.1:(\d+)/$", open("out").read(), re.M).group(1))

def ask(method, path, body=None, **headers):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    r = c.getresponse()
    return r.status, r.read()

def raw(data):
    """What is answered to these bytes: the status, or nothing."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        got = b""
        while piece := s.recv(65536):
            got += piece
    return got.split(b" ")[1].decode() if got else ""

status, page = ask("GET", "/")
assert status == 200, status
data = json.loads(re.search(rb'<script id="data" type="application/json">(.*?)</script>', page, re.S).group(1))
assert data["served"] == 1 and data["code"] == [], data["served"]
main = next(i for i, f in enumerate(data["functions"]) if f[0] == "main")
status, code = ask("GET", f"/function/{main}")
assert status == 200 and json.loads(code)["name"] == "main", status
assert max(x[1] for x in json.loads(code)["insns"]) == 1000
status, rows = ask("POST", "/sql", "select sum(refs) as n from threads")
assert status == 200 and json.loads(rows)[0]["n"] == data["facts"]["refs"], rows
status, rows = ask("POST", "/sql", "select count(*) as n from refs where thread = 0;")
assert status == 200 and json.loads(rows)[0]["n"] == data["facts"]["refs"], rows
for question, said in (("select nosuch", b"no such column"), ("attach database '/etc/passwd' as p", b"only SELECT"), ("create table t(a)", b"only SELECT"), ("pragma database_list", b"only SELECT"),
                       ("select 1; select 2", b"one statement"), ("", b"no statement"), ("selec", b"syntax error")):
    status, text = ask("POST", "/sql", question)
    assert status == 400 and said in text, (question, status, text)
for path in ("/../../etc/passwd", "/recording.tw/header", "//etc/passwd", "/function/", "/function/x", "/function/99999999", "/function/-1", "/%2e%2e/header", "/function/0/../../header"):
    status, text = ask("GET", path)
    assert status == 404 and len(text) < 100, (path, status, text)
assert ask("GET", "/", Host="example.com")[0] == 403
assert ask("POST", "/sql", "select 1", Origin="http://example.com")[0] == 403
assert ask("POST", "/sql", "select 1", Origin=f"http://127.0.0.1:{port}")[0] == 200
assert ask("GET", "/sql")[0] == 405 and ask("DELETE", "/")[0] == 405
status, text = ask("HEAD", "/")
assert status == 200 and text == b""
host = f"Host: 127.0.0.1:{port}\r\n".encode()
for bad in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n" + host + b"\r\n", b"GET / HTTP/1.1\r\nno field\r\n\r\n", b"GET x HTTP/1.1\r\n" + host + b"\r\n", b"\0\1\2\3", b"GET / HTTP/1.1\r\n" + host, b"POST /sql HTTP/1.1\r\n" + host + b"Content-Length: 9\r\n\r\nabc",
            b"POST /sql HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n", b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n" + host + b"\r\n", b"GET / HTTP/1.1\r\n" + host + host + b"\r\n"):
    assert raw(bad) == "400", (bad[:60], raw(bad))
assert raw(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n") == "431", "a long head"
assert raw(b"POST /sql HTTP/1.1\r\n" + host + b"Content-Length: 99999999\r\n\r\n") == "413"
assert raw(b"POST /sql HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n") == "501"
# Connections that say nothing keep nobody waiting; many at once are all answered.
idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
answers = []
many = [threading.Thread(target=lambda: answers.append(ask("GET", f"/function/{main}")[0])) for _ in range(10)]
for t in many:
    t.start()
for t in many:
    t.join()
assert answers == [200] * 10, answers
for s in idle:
    s.close()
END
python3 ask.py || fail "$(cat err)"
kill -0 $server || fail "it has ended: $(cat err)"
[ -s err ] && fail "it says: $(cat err)"
port=$(tr -dc '0-9:' <out | cut -d : -f 3)
run out2 err2 "$TW" serve --port "$port" recording.tw && fail "a port that is taken"
grep -q "cannot listen on 127.0.0.1, port $port" err2 || fail "what is said: $(cat err2)"
exit 0
