# gzip -9 and gzip -d.
. "$(dirname "$0")/../lib.sh"
make_data data "$(full 20000000 120000)"
whole gzip -9 -n -c data
cp native.out data.gz
whole gzip -d -c data.gz
cmp -s data recorded.out || fail "gzip -d gives other data"
