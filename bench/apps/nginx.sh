# nginx with several workers under wrk: static files, a configuration reload meanwhile, an orderly end.
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin
need nginx wrk curl
mkdir -p html && head -c 2000 /dev/urandom | base64 >html/small.txt && head -c 200000 /dev/urandom | base64 >html/large.txt
for mode in $MODES; do
	[ "$mode" = verify ] && continue
	PORT=$((PORT + 1))
	rm -rf run && mkdir run
	cat >nginx.conf <<-END
		worker_processes 3;
		daemon off;
		pid $WORK/run/pid;
		error_log $WORK/run/error.log;
		events { worker_connections 256; }
		http {
			access_log $WORK/run/access.log;
			client_body_temp_path $WORK/run/b; proxy_temp_path $WORK/run/p; fastcgi_temp_path $WORK/run/f; uwsgi_temp_path $WORK/run/u; scgi_temp_path $WORK/run/s;
			gzip on; gzip_min_length 0; gzip_types *;
			server { listen 127.0.0.1:$PORT; root $WORK/html; }
		}
	END
	[ "$(id -u)" = 0 ] && sed -i '1i user root;' nginx.conf
	prefix "$mode"
	"${PREFIX[@]}" nginx -c "$WORK/nginx.conf" >server.out 2>server.err &
	pid=$!
	CLEANUP+=("kill -KILL $pid 2>/dev/null")
	url=http://127.0.0.1:$PORT
	wait_for 30 curl -sf "$url/small.txt" || { result "$mode" bad "does not come up: $(tail -n 1 server.err)"; continue; }
	wrk -t1 -c32 -d1s "$url/small.txt" >/dev/null
	wrk -t1 -c32 -d4s "$url/small.txt" >wrk.out
	wrk -t1 -c8 -d3s "$url/large.txt" >large.out &
	load=$!
	sleep 1
	kill -HUP "$(cat run/pid)"
	wait $load
	curl -s --compressed "$url/large.txt" | cmp -s - html/large.txt && same=yes || same=no
	kill -QUIT "$(cat run/pid)"
	wait_for 20 sh -c "! kill -0 $pid" || kill -KILL $pid
	wait $pid
	status=$?
	if [ $status -ne 0 ] || [ $same = no ] || complains server.err || grep -qE '\[(alert|emerg|crit)\]' run/error.log || grep -q 'Non-2xx' wrk.out; then
		result "$mode" bad "status $status, content same: $same, $(tail -n 1 server.err) $(grep -E '\[(alert|emerg|crit)\]' run/error.log | head -n 1)"
	else
		result "$mode" ok "$(awk '/Requests.sec/ { print $2 }' wrk.out)"
	fi
done
finish
