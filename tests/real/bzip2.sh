# bzip2 -9.
. "$(dirname "$0")/../lib.sh"
need_command bzip2
make_data data "$(full 20000000 150000)"
whole bzip2 -9 -c data
