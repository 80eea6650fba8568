# Perl with forked workers: pipes, a SIGCHLD handler that reaps them, a socket pair, a shell.
. "$(dirname "$0")/../lib.sh"
need_command perl
cat >t.pl <<'END'
use strict; use warnings; use POSIX ":sys_wait_h"; use Socket; use IO::Handle;
my (%done, @r);
$SIG{CHLD} = sub { while ((my $p = waitpid(-1, WNOHANG)) > 0) { $done{$p} = $? >> 8 } };
for my $k (1 .. 3) {
	pipe(my $rd, my $wr) or die;
	my $pid = fork // die;
	if (!$pid) {
		my ($x, %h) = ($k);
		for (1 .. 150) { $x = ($x * 1103515245 + 12345) % 2147483648; $h{$x % 97} .= chr(97 + $x % 26) }
		my $n = 0; for (sort keys %h) { $n++ while $h{$_} =~ /[aeiou][^aeiou]/g }
		print $wr "$k $n\n"; close $wr; exit $k;
	}
	close $wr; push @r, [$pid, $rd];
}
for (@r) { my $l; do { $l = readline $_->[1] } until defined $l; print $l }
for (@r) { select(undef, undef, undef, 0.01) until exists $done{$_->[0]}; print $done{$_->[0]}, " " }
print "\n";
$SIG{CHLD} = 'DEFAULT';
socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
if (!fork) { close $a; while (<$b>) { chomp; print $b scalar(reverse $_), "\n"; $b->flush } exit }
close $b; $a->autoflush(1);
for (1 .. 5) { print $a "line $_\n"; print scalar <$a> }
close $a; wait; print `echo from a shell`;
END
whole perl t.pl
