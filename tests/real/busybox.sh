# A static program: busybox, in several of its roles.
. "$(dirname "$0")/../lib.sh"
busybox=$(command -v busybox) || skip "no busybox here"
make_data data "$(full 10000000 60000)"
whole "$busybox" md5sum data
whole "$busybox" gzip -c data
whole "$busybox" sort data
whole "$busybox" ls -l /usr/share/common-licenses
