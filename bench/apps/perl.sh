# Perl: forked workers over pipes, reaped by a SIGCHLD handler, regular expressions, sockets.
. "$(dirname "$0")/lib.sh"
need perl
cat >t.pl <<'END'
use strict; use warnings; use POSIX ":sys_wait_h"; use Socket; use IO::Handle;
my %done; $SIG{CHLD} = sub { while ((my $p = waitpid(-1, WNOHANG)) > 0) { $done{$p} = $? >> 8 } };
my @r;
for my $k (1 .. 8) {
	pipe(my $rd, my $wr) or die;
	my $pid = fork // die;
	if (!$pid) {
		close $rd;
		my $x = $k; my %h;
		for (1 .. 3000) { $x = ($x * 1103515245 + 12345) % 2147483648; $h{$x % 97} .= chr(97 + $x % 26) }
		my $n = 0; for (sort keys %h) { $n++ while $h{$_} =~ /[aeiou][^aeiou]/g }
		print $wr "$k $n\n"; close $wr; exit $k;
	}
	close $wr; push @r, [$pid, $rd];
}
for (@r) { my $l = readline $_->[1]; print $l }
for (@r) { my $p = $_->[0]; select(undef, undef, undef, 0.01) until exists $done{$p}; print $done{$p}, " " }
print "\n";
socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
if (!fork) { close $a; while (<$b>) { chomp; print $b scalar(reverse $_), "\n"; $b->flush } exit }
close $b; $a->autoflush(1);
for (1 .. 50) { print $a "line $_\n"; my $x = <$a>; print $x if $_ > 48 }
close $a; print `echo from a shell`;
my $e = eval { die { code => 7 } } || $@->{code}; print "$e\n";
END
batch -v perl t.pl
finish
