# Compressors with two threads: xz -T2, pigz -p2, zstd -T2; what they write is what they write natively.
. "$(dirname "$0")/lib.sh"
need xz pigz zstd
for _ in 1 2 3 4; do cat /usr/bin/perl /usr/share/common-licenses/GPL-3; done | head -c "${BYTES:-2000000}" >data
head -c 300000 data >small
name=$APP
for tool in "xz -T2 --block-size=500000 -3 -c" "pigz -p2 -c -n" "zstd -T2 -B512K -5 -q -c"; do
	APP=${tool%% *}
	SAID+=" $APP:"
	RATE=()
	saved=$MODES
	MODES=${saved/verify/} && batch $tool data
	case $saved in *verify*) MODES="native verify" && batch -v $tool small ;; esac
	MODES=$saved
done
APP=$name
finish
