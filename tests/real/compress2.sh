# Compressors with two threads: xz -T2 and zstd -T2.
. "$(dirname "$0")/../lib.sh"
need_command xz zstd
make_data data "$(full 4000000 60000)"
whole xz -T2 --block-size=20000 -1 -c data
whole zstd -T2 -B512K -3 -q -c data
