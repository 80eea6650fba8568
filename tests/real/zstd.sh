# zstd -19 --single-thread.
. "$(dirname "$0")/../lib.sh"
need_command zstd
make_data data "$(full 20000000 70000)"
whole zstd -19 --single-thread -q -c data
