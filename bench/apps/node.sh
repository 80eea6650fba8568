# Node.js: a compute script (V8 compiles, optimizes, deoptimizes, collects garbage), worker threads, and an HTTP server under load.
. "$(dirname "$0")/lib.sh"
need node wrk curl
cat >compute.js <<'END'
const { Worker, isMainThread, workerData, parentPort } = require('worker_threads');
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function work(k) {
	const o = {}, a = [];
	for (let i = 0; i < 300000; i++) o['k' + (i % 5000)] = (o['k' + (i % 5000)] || 0) + i;
	for (let i = 0; i < 100000; i++) a.push({ x: i * 7 % 1000, y: 's' + i });
	a.sort((p, q) => p.x - q.x);
	const s = JSON.stringify(a);
	let m = 0, e = 0;
	for (const r = /s(\d+)9/g; r.exec(s); ) m++;
	for (let i = 0; i < 2000; i++) try { null.x; } catch (x) { e++; }
	const f = new Float64Array(100000).map((v, i) => Math.sqrt(i));
	function poly(v) { return v.length; } // sees other shapes later: deoptimized
	for (let i = 0; i < 50000; i++) e += poly(i % 1000 ? 'ab' : [1, 2, 3]);
	return [fib(28 + k), Object.keys(o).length, a[500].y, s.length, m, e, f.reduce((p, q) => p + q).toFixed(3)].join(' ');
}
if (isMainThread) {
	console.log(work(0));
	let done = 0;
	const out = [];
	for (let k = 0; k < 2; k++)
		new Worker(__filename, { workerData: k }).on('message', m => { out[k] = m; if (++done == 2) console.log(out.join('\n')); });
} else parentPort.postMessage(work(workerData));
END
batch node compute.js

cat >server.js <<'END'
const http = require('http');
let n = 0;
http.createServer((q, r) => {
	n++;
	const o = { path: q.url, list: [...Array(50).keys()].map(i => i * i) };
	r.setHeader('Content-Type', 'application/json');
	r.end(JSON.stringify(o));
}).listen(+process.argv[2], '127.0.0.1');
process.on('SIGTERM', () => { console.log('stopped', n > 0); process.exit(0); });
END
for mode in $MODES; do
	[ "$mode" = verify ] && continue
	PORT=$((PORT + 1))
	prefix "$mode"
	"${PREFIX[@]}" node server.js "$PORT" >server.out 2>server.err &
	pid=$!
	CLEANUP+=("kill -KILL $pid 2>/dev/null")
	wait_for 30 curl -sf "http://127.0.0.1:$PORT/" || { result "$mode" bad "HTTP server does not come up: $(tail -n 1 server.err)"; continue; }
	wrk -t1 -c32 -d2s "http://127.0.0.1:$PORT/warm" >/dev/null
	wrk -t1 -c32 -d5s "http://127.0.0.1:$PORT/x" >wrk.out
	child=$(pgrep -P $pid || echo $pid)
	[ "$mode" = native ] && child=$pid
	kill -TERM $child
	wait_for 20 sh -c "! kill -0 $pid" || kill -KILL $pid
	wait $pid
	status=$?
	if [ $status -ne 0 ] || complains server.err || grep -q 'Socket errors' wrk.out || ! grep -q 'stopped true' server.out; then
		result "$mode" bad "HTTP server: status $status, $(grep 'Socket errors' wrk.out) $(tail -n 1 server.err)"
	else
		result "$mode" ok "$(awk '/Requests.sec/ { print $2 }' wrk.out)"
	fi
done
finish
