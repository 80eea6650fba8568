/* What was recorded, and what was most expensive in it. */
function howItEnded(status) {
	const f = data.facts;
	if (!f.complete)
		return 'recording stopped: ' + f.failure;
	return (status & 0x7f) ? 'killed by signal ' + (status & 0x7f) : 'exit status ' + (status >> 8 & 0xff);
}

function card(value, what, title) {
	return el('div', {class: 'card', title}, el('b', {}, value), el('span', {}, what));
}

function missing() {
	const notes = [];
	if (!data.facts.has_refs)
		notes.push('This recording holds control flow only: reads, writes and memory over time are empty. `trackway record -f dep` records references too.');
	if (!data.facts.has_calls)
		notes.push('This recording does not tell calls: there are no flame graph, call graph and inclusive costs.');
	if (!data.facts.has_time)
		notes.push('The rate of the time stamp counter is not known: times are in cycles.');
	if (data.facts.gaps)
		notes.push(`${grouped(data.facts.gaps)} places were not recorded (gaps); the timeline shows them.`);
	if (data.all_functions > functions.length)
		notes.push(`Of ${grouped(data.all_functions)} functions the ${grouped(functions.length)} that executed most are in this page; trackway serve shows all.`);
	if (!data.served && functions.length > data.code.length)
		notes.push(`The code of the ${grouped(data.code.length)} functions that executed most is in this page; trackway serve shows that of all.`);
	if (data.contexts_left_out)
		notes.push(`${grouped(data.contexts_left_out)} small contexts are drawn together with others of the same caller.`);
	return notes;
}

/* Files whose code has no source lines, and how to come by them. */
function withoutLines() {
	const all = data.facts.insns, quoted = path => "'" + path.replace(/'/g, "'\\''") + "'";
	const files = data.no_lines.filter(f => f[1] >= all / 200).sort((a, b) => b[1] - a[1]);
	const debian = files.filter(f => /^\/(usr|lib|bin|sbin|lib64)\//.test(f[0])).map(f => quoted(f[0]));
	if (!files.length)
		return null;
	const commands = debian.length ? [el('p', {}, 'For files of Debian\'s, either of these, and record again:'),
		el('pre', {}, `apt install debian-goodies && apt install $(find-dbgsym-packages ${debian.join(' ')})   # with Debian's archive of debug packages in sources.list\nexport DEBUGINFOD_URLS=https://debuginfod.debian.net                        # fetches them while trackway record gathers names`)] : [];
	return el('div', {}, el('h3', {}, 'Without debug information'), el('p', {}, 'With it there would be names of all functions, inlined ones too, source lines with what they cost, and annotated source.'),
		el('ul', {}, ...files.map(f => el('li', {}, `${f[0]}: ${percent(f[1], all)} of the instructions are in code without source lines${f[2] ? `, ${percent(f[2], all)} in functions without a name` : ''}.`))),
		...commands, el('p', {}, 'Your own: compile with -g.'));
}

function summaryView(root) {
	const f = data.facts, hottest = functions.slice().sort((a, b) => b.self - a.self).slice(0, 12);
	root.append(el('h2', {}, 'Summary'), el('div', {class: 'cards'},
		card(scaled(f.insns), 'instructions', grouped(f.insns)), card(scaled(f.refs), 'references', grouped(f.refs)),
		card(scaled(f.blocks), 'basic blocks executed', grouped(f.blocks)), card(grouped(f.threads), f.threads === 1 ? 'thread' : 'threads'),
		card(scaled(data.all_syscalls), 'system calls', grouped(data.all_syscalls)), card(grouped(data.all_functions), 'functions ran'),
		card(f.has_time ? time(f.duration_ns) : '?', 'recorded, wall')));
	const facts = [['Command', f.command.join(' ')], ['Ended', howItEnded(f.wait_status)], ['Program', f.program], ['Directory', f.cwd],
		['When', new Date(f.start * 1000).toISOString().replace('T', ' ').slice(0, 19) + ' UTC'], ['Machine', [f.host, f.cpu, f.kernel].filter(Boolean).join(', ')], ['Recording', `${f.directory}, format ${f.format}`]];
	root.append(el('dl', {}, ...facts.flatMap(([k, v]) => [el('dt', {}, k), el('dd', {}, v)])));
	root.append(el('h3', {}, 'Where the instructions went'), table([
		{title: 'self', n: true, value: r => r.self, show: r => percent(r.self, f.insns), part: r => r.self / f.insns},
		{title: 'with callees', n: true, value: r => r.all, show: r => percent(r.all, f.insns)},
		{title: 'references', n: true, value: r => r.refs, show: r => scaled(r.refs)},
		{title: 'function', value: r => r.name, show: functionLink, wide: true}, {title: 'module', value: r => r.module},
		{title: 'source', value: r => r.file ? r.file.replace(/.*\//, '') + ':' + r.line : ''}], hottest));
	const notes = missing();
	if (notes.length || data.unnamed.length)
		root.append(el('h3', {}, 'What is not here'), el('ul', {}, ...notes.map(n => el('li', {}, n)), ...data.unnamed.map(([path, why]) => el('li', {}, `${path}: ${why}`))));
	const lines = withoutLines();
	if (lines)
		root.append(lines);
}
