# openssl: ciphers and digests with the widest vector instructions the CPU has; `openssl speed`, whose figures differ from run to run.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need_command openssl
make_data data "$(full 20000000 200000)"
key=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
for cipher in aes-256-ctr aes-128-cbc chacha20; do
	bytes=32
	[ $cipher = aes-128-cbc ] && bytes=16
	whole openssl enc -$cipher -K ${key:0:$((bytes * 2))} -iv ${key:0:32} -in data
done
for digest in sha512 sha1 md5 sha3-256; do whole openssl dgst -$digest data; done

for algorithm in aes-256-gcm sha256 chacha20-poly1305; do
	rm -rf speed.tw
	"$TW" record --verify -o speed.tw -- openssl speed -seconds 1 -bytes 1024 -evp $algorithm >speed.out 2>speed.err || {
		tail -n 5 speed.err
		fail "openssl speed $algorithm fails"
	}
	grep -qiE "$algorithm +[0-9.]+k" speed.out || fail "openssl speed $algorithm printed no figure"
	grep -qi mismatch speed.err && fail "openssl speed $algorithm: not verified"
done
exit 0
