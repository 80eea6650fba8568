# sha256sum: hardly any value to record.
. "$(dirname "$0")/../lib.sh"
make_data data "$(full 100000000 4000000)"
whole sha256sum data
