/* The flame graph: calling contexts, callees below their callers, as wide as what they cost. */
const tree = data.tree || null;
let flameState = {zoom: 0, metric: 0, search: ''};

/* Costs with all that was called, by metric; children, in the order of their names. */
const flameTotals = tree && [tree.insns, tree.refs].map(own => {
	const all = own.slice();
	for (let i = all.length - 1; i > 0; i--)
		all[tree.parent[i]] += all[i];
	return all;
});
const flameName = i => i === 0 ? 'all' : tree.name[i] < 0 ? '(smaller ones)' : data.tree_names[tree.name[i]][0];
const flameModule = i => i === 0 || tree.name[i] < 0 ? '' : data.tree_names[tree.name[i]][1];
const flameChildren = tree && tree.parent.reduce((all, p, i) => { if (i) (all[p] = all[p] || []).push(i); return all; }, []);
if (tree)
	flameChildren.forEach(c => c.sort((a, b) => tree.name[a] < 0 ? 1 : tree.name[b] < 0 ? -1 : flameName(a) < flameName(b) ? -1 : 1));
const hueOf = text => { let h = 7; for (const c of text) h = (h * 31 + c.charCodeAt(0)) % 360; return h; };

function flameView(root, argument) {
	if (!tree) {
		root.append(el('h2', {}, 'Flame graph'), el('p', {}, 'This recording does not tell calls.'));
		return;
	}
	const s = flameState, picture = el('div', {class: 'flame', tabindex: 0, 'aria-label': 'Flame graph'}), path = el('span', {class: 'soft'});
	if (argument)
		s.search = argument;
	const search = el('input', {type: 'search', placeholder: 'find in graph', value: s.search, 'aria-label': 'Find in the flame graph', oninput() { s.search = search.value; draw(); }});
	let chosen = s.zoom;
	function place(i, x, w, y, total, rects) {
		/* without recursion: programs recurse deep */
		const stack = [[i, x, w, y]];
		while (stack.length) {
			const [k, left, width, row] = stack.pop();
			if (width < 0.6 && row > 0)
				continue;
			rects.push([k, left, width, row]);
			let at = left;
			for (const c of flameChildren[k] || []) {
				const cw = total[c] * (width / (total[k] || 1));
				stack.push([c, at, cw, row + 1]);
				at += cw;
			}
		}
	}
	function describe(i) {
		const total = flameTotals[s.metric], whole = total[0], what = ['instructions', 'references'][s.metric], own = [tree.insns, tree.refs][s.metric][i];
		return `${flameName(i)}${flameModule(i) ? '  ' + flameModule(i) : ''}\n${scaled(total[i])} ${what}, ${percent(total[i], whole)} of all${s.zoom ? ', ' + percent(total[i], total[s.zoom]) + ' of what is shown' : ''}\n${scaled(own)} by itself; called ${grouped(tree.calls[i])} times`;
	}
	function zoomTo(i) {
		s.zoom = chosen = i;
		draw();
		picture.focus();
	}
	function draw() {
		const w = picture.clientWidth || 900, total = flameTotals[s.metric], rects = [], above = [];
		for (let i = s.zoom; i; i = tree.parent[i])
			above.unshift(tree.parent[i]);
		above.forEach((i, row) => rects.push([i, 0, w, row]));
		place(s.zoom, 0, w, above.length, total, rects);
		const wanted = s.search.toLowerCase();
		let sum = 0, rows = 0;
		const seen = new Set();
		picture.replaceChildren(...rects.map(([i, x, width, row]) => {
			const found = wanted && flameName(i).toLowerCase().includes(wanted);
			rows = Math.max(rows, row + 1);
			if (found) { let k = i; while (k && !seen.has(tree.parent[k])) k = tree.parent[k]; if (!k) sum += total[i]; seen.add(i); }
			const e = el('div', {class: (found ? 'found ' : '') + (width < 8 ? 'small ' : '') + (tree.name[i] < 0 || !i ? 'others' : ''), 'data-item': i}, width < 24 ? '' : flameName(i));
			e.style.cssText = `left:${x}px;top:${row * 20}px;width:${Math.max(width, 1)}px;--hue:${hueOf(flameModule(i))}`;
			if (i === chosen) e.setAttribute('aria-current', 'true');
			return e;
		}));
		picture.style.height = rows * 20 + 'px';
		path.textContent = (wanted ? `found: ${percent(sum, total[0])} of all. ` : '') + `${['Instructions', 'References'][s.metric]} in ${flameName(s.zoom)}: ${grouped(total[s.zoom])}`;
	}
	picture.addEventListener('click', e => { const i = e.target.dataset.item; if (i !== undefined) zoomTo(Number(i)); });
	picture.addEventListener('dblclick', e => { const i = e.target.dataset.item, f = i && functionByKey.get(flameName(i) + '\n' + flameModule(i)); if (f) location.hash = 'function=' + linkOf(f); });
	picture.addEventListener('mousemove', e => showTip(e, e.target.dataset.item === undefined ? '' : describe(Number(e.target.dataset.item))));
	picture.addEventListener('mouseleave', hideTip);
	picture.addEventListener('keydown', e => {
		const total = flameTotals[s.metric], brothers = (flameChildren[tree.parent[chosen]] || []).filter(i => total[i] > 0), k = brothers.indexOf(chosen);
		const act = {ArrowUp: () => tree.parent[chosen], ArrowDown: () => (flameChildren[chosen] || []).reduce((a, b) => total[b] > total[a] ? b : a, (flameChildren[chosen] || [chosen])[0]),
			ArrowLeft: () => brothers[k - 1], ArrowRight: () => brothers[k + 1], Escape: () => 0}[e.key];
		if (!act) return;
		const next = act();
		if (next !== undefined) zoomTo(next);
		e.preventDefault();
		e.stopPropagation();
	});
	const metrics = data.facts.has_refs ? ['instructions', 'references'] : ['instructions'];
	root.append(el('h2', {}, 'Flame graph'), el('p', {class: 'soft'}, 'Callees below their callers, as wide as what they cost; colours tell modules. Click: zoom; double click: the function; arrows: parent, callee, neighbours; Escape: all.'),
		el('div', {class: 'bar'}, choice(metrics, s.metric, i => { s.metric = i; draw(); }), search, el('button', {onclick: () => zoomTo(0)}, 'All'), path), picture);
	requestAnimationFrame(draw);
	onresize = draw;
}
