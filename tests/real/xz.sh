# xz -6 -T1.
. "$(dirname "$0")/../lib.sh"
need_command xz
make_data data "$(full 20000000 120000)"
whole xz -6 -T1 -c data
