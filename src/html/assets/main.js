/* Which view is shown: by the part of the address behind #. Keys, search, dark and light. */
const views = [
	['summary', 'Summary', summaryView], ['timeline', 'Timeline', timelineView], ['flame', 'Flame graph', flameView], ['functions', 'Functions', functionsView],
	['memory', 'Memory', memoryView], ['calls', 'Call graph', callsView], ['blocks', 'Blocks', blocksView], ...(data.served ? [['query', 'Query', queryView]] : []), ['function', null, functionView],
];
const tabs = document.getElementById('tabs'), view = document.getElementById('view');
views.filter(v => v[1]).forEach(([id, title], i) => tabs.append(el('a', {href: '#' + id, role: 'tab', id: 'tab-' + id}, title, el('kbd', {}, String(i + 1)))));

function show() {
	const [id, ...rest] = location.hash.slice(1).split('='), entry = views.find(v => v[0] === id) || views[0];
	let argument = rest.join('=');
	try { argument = decodeURIComponent(argument); } catch (e) { /* a '%' that stands for itself */ }
	hideTip();
	onresize = null;
	view.replaceChildren();
	for (const a of tabs.children)
		a.setAttribute('aria-selected', String(a.id === 'tab-' + (entry[0] === 'function' ? 'functions' : entry[0])));
	document.title = `${argument || entry[1] || ''} - ${data.facts.command.join(' ')} - Trackway`;
	entry[2](view, argument);
}

/* A question in SQL, to `trackway serve`. */
function queryView(root) {
	const text = el('textarea', {'aria-label': 'SQL', spellcheck: 'false'}, 'select function, module, sum(insns) as insns from blocks group by 1, 2 order by 3 desc limit 20;'), place = el('div');
	async function ask() {
		place.replaceChildren(el('p', {class: 'soft'}, 'asking ...'));
		const answer = await fetch('sql', {method: 'POST', body: text.value});
		const body = await answer.text();
		if (!answer.ok) {
			place.replaceChildren(el('p', {class: 'bad'}, body));
			return;
		}
		const rows = JSON.parse(body || '[]'), names = rows.length ? Object.keys(rows[0]) : [];
		place.replaceChildren(rows.length ? table(names.map(n => ({title: n, value: r => r[n], n: typeof rows[0][n] === 'number', wide: typeof rows[0][n] !== 'number', show: r => r[n] === null ? '' : typeof r[n] === 'number' ? r[n].toLocaleString('en-US') : String(r[n])})), rows, {sort: -1}) : el('p', {}, 'No rows.'));
	}
	text.addEventListener('keydown', e => { e.stopPropagation(); if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) ask(); });
	root.append(el('h2', {}, 'Query'), el('p', {class: 'soft'}, 'SQL over the recording, as in trackway sql; Ctrl-Enter asks. Tables: blocks, functions, block_runs, refs, calls, branches, threads, processes, modules, syscalls, signals, windows.'), text, el('div', {class: 'bar'}, el('button', {onclick: ask}, 'Ask')), place);
}

const search = document.getElementById('search');
document.getElementById('names').append(...functions.slice(0, 2000).map(f => el('option', {value: f.name})));
search.addEventListener('change', () => { if (search.value) location.hash = (findFunction(search.value) ? 'function=' : 'functions=') + encodeURIComponent(search.value); });
document.getElementById('command').textContent = data.facts.command.join(' ');

function setTheme(theme) {
	document.documentElement.dataset.theme = theme;
	show();
}
function otherTheme() {
	const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
	try { localStorage.setItem('trackway-theme', theme); } catch (e) { /* files may have no storage */ }
	setTheme(theme);
}
document.getElementById('theme').addEventListener('click', otherTheme);

const keys = document.getElementById('keys');
function showKeys() {
	keys.replaceChildren(el('h2', {}, 'Keys'), el('dl', {}, ...[['1 ... 7', 'views'], ['/', 'find a function'], ['t', 'dark or light'], ['Escape', 'back to all, in the flame graph'], ['arrows + − 0', 'move, zoom and fit graphs and timeline'], ['?', 'this']].flatMap(([k, v]) => [el('dt', {}, k), el('dd', {}, v)])), el('button', {onclick: () => keys.close()}, 'Close'));
	keys.showModal();
}
document.getElementById('help').addEventListener('click', showKeys);
document.addEventListener('keydown', e => {
	if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey || keys.open)
		return;
	const tab = tabs.children[Number(e.key) - 1];
	if (tab) location.hash = tab.getAttribute('href');
	else if (e.key === '/') { search.focus(); e.preventDefault(); }
	else if (e.key === 't') otherTheme();
	else if (e.key === '?') showKeys();
});

let theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
try { theme = localStorage.getItem('trackway-theme') || theme; } catch (e) { /* as above */ }
addEventListener('hashchange', () => { show(); view.focus({preventScroll: true}); });
setTheme(theme);
document.documentElement.dataset.ready = 'yes';
