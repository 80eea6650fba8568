/* All functions; and one, with its source, its instructions and its control flow. */
/* Columns of a table: misses of the first level of caches, and of the last. */
const missColumns = of => data.facts.has_misses ? ['L1 misses', 'last-level misses'].map((title, i) => ({title, n: true, value: r => of(r)[i], show: r => grouped(of(r)[i])})) : [];

function functionsView(root, filter) {
	const all = data.facts.insns;
	root.append(el('h2', {}, 'Functions'), table([
		{title: 'self', n: true, value: f => f.self, show: f => grouped(f.self), part: f => f.self / all}, {title: '%', n: true, value: f => f.self, show: f => percent(f.self, all)},
		{title: 'with callees', n: true, value: f => f.all, show: f => percent(f.all, all)}, {title: 'calls', n: true, value: f => f.calls, show: f => grouped(f.calls)},
		{title: 'reads', n: true, value: f => f.reads, show: f => grouped(f.reads)}, {title: 'writes', n: true, value: f => f.writes, show: f => grouped(f.writes)},
		...missColumns(f => [f.misses, f.lastMisses]),
		{title: 'function', value: f => f.name, show: functionLink, wide: true}, {title: 'module', value: f => f.module}, {title: 'source', value: f => f.file ? f.file.replace(/.*\//, '') + ':' + f.line : ''}],
	functions, {filter, onfilter: text => history.replaceState(null, '', '#functions' + (text ? '=' + encodeURIComponent(text) : '')), rest: data.all_functions > functions.length ? ` (${grouped(data.all_functions)} in the recording)` : ''}));
}

const INSN = {ADDRESS: 0, RUNS: 1, READS: 2, WRITES: 3, FILE: 4, LINE: 5, TEXT: 6, MISSES: 7, LAST_MISSES: 8};

/* What the instructions of a row did: cells of references and misses. */
const counted = data.facts.has_misses ? [INSN.READS, INSN.WRITES, INSN.MISSES, INSN.LAST_MISSES] : [INSN.READS, INSN.WRITES];
const countTitles = data.facts.has_misses ? ['reads', 'writes', 'L1 misses', 'last-level misses'] : ['reads', 'writes'];
const countCells = insns => counted.map(k => { const n = insns.reduce((s, x) => s + (x[k] || 0), 0); return el('td', {class: 'n', title: n ? grouped(n) : ''}, n ? scaled(n) : ''); });

/* For the last instruction of each block: where control went, in words. */
function endings(code) {
	const words = new Map();
	code.blocks.forEach(([first, n, , ending], b) => {
		const edges = code.edges.filter(e => e[0] === b), sum = edges.reduce((s, e) => s + e[2], 0);
		if (!n || ending === 'NB' || !sum)
			return;
		words.set(first + n - 1, edges.slice(0, 3).map(e => `${percent(e[2], sum)} ${e[3] ? 'goes on' : e[1] >= 0 ? '→ ' + code.insns[code.blocks[e[1]][0]][INSN.ADDRESS] : '→ ' + e[4]}`).join(', ') + (edges.length > 3 ? ', ...' : ''));
	});
	return words;
}

function insnRow(code, i, most, words, isBlock) {
	const x = code.insns[i], td = el('td', {class: 'n hot'}, grouped(x[INSN.RUNS]));
	td.style.setProperty('--part', 100 * x[INSN.RUNS] / most + '%');
	return el('tr', {class: isBlock ? 'block' : ''}, td, ...countCells([x]),
		el('td', {class: 'soft'}, x[INSN.ADDRESS]), el('td', {}, x[INSN.TEXT]), el('td', {class: 'soft'}, words.get(i) || ''), el('td', {class: 'soft'}, x[INSN.FILE] >= 0 ? code.files[x[INSN.FILE]].replace(/.*\//, '') + ':' + x[INSN.LINE] : ''));
}

const codeHead = (...titles) => el('thead', {}, el('tr', {}, ...titles.map((t, i) => el('th', {class: i <= countTitles.length ? 'n' : '', scope: 'col', style: 'padding:4px 8px'}, t))));

function disassembly(code) {
	const most = Math.max(...code.insns.map(x => x[INSN.RUNS]), 1), words = endings(code), begins = new Set(code.blocks.map(b => b[0]));
	return el('div', {class: 'scroll'}, el('table', {class: 'code'}, codeHead('executed', ...countTitles, 'address', 'instruction', 'then', 'line'), el('tbody', {}, ...code.insns.map((x, i) => insnRow(code, i, most, words, begins.has(i))))));
}

/* Source lines with what their instructions did; a click shows the instructions of a line. */
function sourceOf(code) {
	if (!code.source.length)
		return el('p', {class: 'soft'}, code.files.length ? 'The source cannot be read: ' + code.files.join(', ') + '. trackway bundle --sources keeps it with a recording.' : 'There are no line numbers for this code: compiled with -g, or with its debug package installed, there would be.');
	const words = endings(code), parts = [];
	for (const [file, first, lines] of code.source) {
		const by = new Map();
		code.insns.forEach((x, i) => { if (x[INSN.FILE] === file) by.set(x[INSN.LINE], (by.get(x[INSN.LINE]) || []).concat(i)); });
		const cost = n => (by.get(n) || []).reduce((s, i) => s + code.insns[i][INSN.RUNS], 0), most = Math.max(...lines.map((_, k) => cost(first + k)), 1), body = el('tbody');
		lines.forEach((text, k) => {
			const n = first + k, insns = by.get(n) || [], c = cost(n), td = el('td', {class: 'n hot'}, insns.length ? grouped(c) : '');
			td.style.setProperty('--part', 100 * c / most + '%');
			const row = el('tr', {class: insns.length ? 'has' : '', 'data-line': n}, td, ...countCells(insns.map(i => code.insns[i])), el('td', {class: 'n soft'}, String(n)), el('td', {}, text));
			let open = null;
			if (insns.length)
				row.addEventListener('click', () => {
					if (open) { open.forEach(r => r.remove()); open = null; return; }
					open = insns.map(i => { const x = code.insns[i]; return el('tr', {class: 'insn'}, el('td', {class: 'n'}, grouped(x[INSN.RUNS])), ...countCells([x]), el('td', {}, ''), el('td', {}, `    ${x[INSN.ADDRESS]}  ${x[INSN.TEXT]}   ${words.get(i) || ''}`)); });
					row.after(...open);
				});
			body.append(row);
		});
		parts.push(el('h3', {}, code.files[file]), el('div', {class: 'scroll'}, el('table', {class: 'code'}, codeHead('instructions', ...countTitles, 'line', 'source (click a line for its instructions)'), body)));
	}
	return el('div', {}, ...parts);
}

function controlFlow(code) {
	const MOST = 160, ids = code.blocks.map((b, i) => i).filter(i => code.blocks[i][1]).sort((a, b) => code.blocks[b][1] * code.blocks[b][2] - code.blocks[a][1] * code.blocks[a][2]).slice(0, MOST).sort((a, b) => a - b);
	const at = new Map(ids.map((id, i) => [id, i])), hottest = Math.max(...ids.map(i => code.blocks[i][2]), 1), busiest = Math.max(...code.edges.map(e => e[2]), 1);
	const nodes = ids.map(i => {
		const [first, n, runs, ending] = code.blocks[i], insns = code.insns.slice(first, first + n), x = insns[0], calls = code.edges.filter(e => e[0] === i && e[1] < 0).map(e => `→ ${e[4]} ×${scaled(e[2])}`);
		const last = insns[insns.length - 1];
		return {lines: [`${x[INSN.ADDRESS]}${x[INSN.LINE] ? '  line ' + x[INSN.LINE] : ''}`, `${n} insns × ${scaled(runs)}`, ...calls.slice(0, 2)].map(t => t.slice(0, 46)), heat: runs / hottest, title: insns.slice(0, 24).map(y => y[INSN.TEXT]).join('\n') + (n > 24 ? '\n...' : '') + `\n${ending}, last: ${last[INSN.TEXT]}`};
	});
	const edges = code.edges.filter(e => at.has(e[0]) && at.has(e[1])).map(e => ({from: at.get(e[0]), to: at.get(e[1]), label: scaled(e[2]), weight: e[2] / busiest, title: `${grouped(e[2])} times${e[3] ? ', falls through' : ''}`}));
	const note = code.blocks.length > ids.length ? el('p', {class: 'soft'}, `The ${MOST} hottest of ${code.blocks.length} blocks.`) : null;
	return el('div', {}, note, drawGraph(nodes, edges));
}

async function functionView(root, name) {
	const f = findFunction(name), all = data.facts.insns;
	if (!f) {
		root.append(el('h2', {}, name), el('p', {}, 'No function of this name ran, or it is not in this page. One that the compiler put into its callers is in their code: its lines are listed there.'), el('p', {}, el('a', {href: '#functions=' + encodeURIComponent(name)}, 'Look for it among the functions')));
		return;
	}
	root.append(el('h2', {}, f.name), el('p', {class: 'soft'}, [f.module, f.file ? `${f.file}:${f.line}` : ''].filter(Boolean).join(', ')),
		el('div', {class: 'cards'}, card(percent(f.self, all), `self: ${grouped(f.self)} instructions`), card(percent(f.all, all), 'with callees'), card(grouped(f.calls), 'calls'), card(scaled(f.reads), 'reads'), card(scaled(f.writes), 'writes'), data.facts.has_misses ? card(scaled(f.misses), 'L1 misses', grouped(f.misses)) : null, data.facts.has_misses ? card(scaled(f.lastMisses), 'last-level misses', grouped(f.lastMisses)) : null),
		el('p', {}, el('a', {href: '#calls=' + linkOf(f)}, 'Callers and callees'), ' · ', el('a', {href: '#flame=' + encodeURIComponent(f.name)}, 'in the flame graph')));
	const code = await codeOf(f), place = el('div');
	if (!code) {
		root.append(el('p', {}, 'Its code is not in this page; trackway serve shows it.'));
		return;
	}
	const show = [() => sourceOf(code), () => disassembly(code), () => controlFlow(code)], first = code.source.length ? 0 : 1;
	const pick = i => place.replaceChildren(show[i]());
	root.append(choice(['Source', 'Disassembly', 'Control flow'], first, pick), place);
	if (data.facts.has_misses)
		root.append(el('p', {class: 'soft'}, `Misses are those of simulated caches, as trackway analyze cache counts them: ${data.facts.first_cache} (bytes:ways) for each thread, ${data.facts.last_cache} for all.`));
	pick(first);
}

function blocksView(root, filter) {
	root.append(el('h2', {}, 'Basic blocks'), el('p', {class: 'soft'}, 'Static blocks: longest runs of instructions that are entered at the first and left at the last only. Ending: NB always goes on, UB always jumps to one place, CB one of two, IJ several.'), table([
		{title: 'instructions', n: true, value: b => b[5] * b[6], show: b => grouped(b[5] * b[6]), part: b => b[5] * b[6] / data.facts.insns}, {title: 'executed', n: true, value: b => b[5], show: b => grouped(b[5])}, {title: 'length', n: true, value: b => b[6]},
		{title: 'bytes', n: true, value: b => b[7]}, {title: 'ending', value: b => b[8]}, {title: 'successors', n: true, value: b => b[9]}, {title: 'address', value: b => b[0]},
		{title: 'function', value: b => b[1], wide: true, show: b => el('a', {href: '#function=' + encodeURIComponent(b[1] + '@' + b[2]), title: b[1]}, b[1])}, {title: 'module', value: b => b[2]}, {title: 'line', value: b => b[3] ? b[3] + ':' + b[4] : ''}],
	data.blocks, {filter, rest: data.all_blocks > data.blocks.length ? ` (${grouped(data.all_blocks)} in the recording)` : ''}));
}
