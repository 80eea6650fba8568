# A perl script: hashes, regular expressions, sorting, formats.
. "$(dirname "$0")/../lib.sh"
need_command perl
export PERL_HASH_SEED=0
cat >script.pl <<'END'
use strict;
my ($n, %h, @l, $x) = ($ARGV[0], (), ());
$x = 42;
for my $i (1 .. $n) {
	$x = ($x * 1103515245 + 12345) % 2147483648;
	push @l, $x;
	$h{sprintf "%x", $x % 1000} .= chr(97 + $x % 26);
}
my $m = 0;
for (values %h) { $m++ while /[aeiou]{2}/g }
@l = sort { $a <=> $b } @l;
print "$m $l[0] $l[-1] ", scalar(keys %h), "\n";
print join(",", map { "$_=" . length $h{$_} } (sort keys %h)[0 .. 9]), "\n";
eval { die "caught\n" };
print $@;
printf "%.6f %s\n", exp(1) ** 2.5, scalar reverse "trackway";
END
whole perl script.pl "$(full 2000000 15000)"
