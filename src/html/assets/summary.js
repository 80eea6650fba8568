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
	if (functions.length && !functions.slice(0, 50).some(f => f.file))
		notes.push('There are no source lines: programs compiled with -g have them; for Debian\'s own, packages named ...-dbgsym, or DEBUGINFOD_URLS=https://debuginfod.debian.net.');
	return notes;
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
		{title: 'function', value: r => r.name, show: functionLink}, {title: 'module', value: r => r.module},
		{title: 'source', value: r => r.file ? r.file.replace(/.*\//, '') + ':' + r.line : ''}], hottest));
	const notes = missing();
	if (notes.length || data.unnamed.length)
		root.append(el('h3', {}, 'What is not here'), el('ul', {}, ...notes.map(n => el('li', {}, n)), ...data.unnamed.map(([path, why]) => el('li', {}, `${path}: ${why}`))));
}
