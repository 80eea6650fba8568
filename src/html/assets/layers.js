/*
 * Graphs drawn in layers, from top to bottom: edges that close a circle are turned round, nodes get the layer behind their last predecessor, long edges
 * get a place in each layer they cross, layers are ordered by barycentres to have fewer crossings (Sugiyama, Tagawa and Toda, 1981).
 *
 * nodes: [{lines: [text...], heat: 0..1, title, onclick, chosen}], edges: [{from, to, label, weight: 0..1, title}]
 */
function layout(nodes, edges) {
	const out = nodes.map(() => []), state = new Uint8Array(nodes.length), links = [];
	edges.forEach((e, i) => { if (e.from !== e.to) out[e.from].push(i); });
	const back = new Set();
	for (let root = 0; root < nodes.length; root++) {
		const stack = [[root, 0]];
		if (state[root])
			continue;
		state[root] = 1;
		while (stack.length) {
			const top = stack[stack.length - 1];
			if (top[1] === out[top[0]].length) { state[top[0]] = 2; stack.pop(); continue; }
			const e = out[top[0]][top[1]++], to = edges[e].to;
			if (state[to] === 1) back.add(e);
			else if (!state[to]) { state[to] = 1; stack.push([to, 0]); }
		}
	}
	for (let i = 0; i < edges.length; i++)
		if (edges[i].from !== edges[i].to)
			links.push(back.has(i) ? {from: edges[i].to, to: edges[i].from, edge: i, back: true} : {from: edges[i].from, to: edges[i].to, edge: i});
	/* layers: longest paths, in topological order */
	const rank = new Int32Array(nodes.length), waits = new Int32Array(nodes.length), next = nodes.map(() => []);
	links.forEach(l => { waits[l.to]++; next[l.from].push(l.to); });
	const ready = nodes.map((_, i) => i).filter(i => !waits[i]);
	for (let k = 0; k < ready.length; k++)
		for (const to of next[ready[k]]) {
			rank[to] = Math.max(rank[to], rank[ready[k]] + 1);
			if (!--waits[to])
				ready.push(to);
		}
	/* places: nodes, and one for each layer that a link crosses */
	const items = nodes.map((n, i) => ({node: n, rank: rank[i], w: Math.max(60, 7 * Math.max(...n.lines.map(t => t.length)) + 16), h: 14 * n.lines.length + 10, up: [], down: []}));
	for (const l of links) {
		l.way = [l.from];
		for (let r = rank[l.from] + 1; r < rank[l.to]; r++) {
			items.push({rank: r, w: 12, h: 0, up: [], down: []});
			l.way.push(items.length - 1);
		}
		l.way.push(l.to);
		for (let k = 1; k < l.way.length; k++) {
			items[l.way[k]].up.push(l.way[k - 1]);
			items[l.way[k - 1]].down.push(l.way[k]);
		}
	}
	const layers = [];
	items.forEach((it, i) => (layers[it.rank] = layers[it.rank] || []).push(i));
	const settle = () => layers.forEach(l => l.forEach((i, k) => { items[i].at = k; }));
	settle();
	for (let sweep = 0; sweep < 10; sweep++) {
		const side = sweep % 2 ? 'down' : 'up';
		for (const l of sweep % 2 ? layers.slice().reverse() : layers) {
			for (const i of l) {
				const of = items[i][side];
				items[i].centre = of.length ? of.reduce((s, k) => s + items[k].at, 0) / of.length : items[i].at;
			}
			l.sort((a, b) => items[a].centre - items[b].centre || a - b);
			l.forEach((i, k) => { items[i].at = k; });
		}
	}
	/* coordinates: side by side, then towards the middle of the neighbours */
	let y = 0;
	for (const l of layers) {
		let x = 0;
		const h = Math.max(...l.map(i => items[i].h), 10);
		for (const i of l) { items[i].x = x + items[i].w / 2; x += items[i].w + 18; items[i].y = y + h / 2; }
		y += h + 42;
	}
	for (let sweep = 0; sweep < 12; sweep++)
		for (const l of sweep % 2 ? layers.slice().reverse() : layers) {
			const want = l.map(i => { const of = sweep % 2 ? items[i].down : items[i].up; return of.length ? of.reduce((s, k) => s + items[k].x, 0) / of.length : items[i].x; });
			for (let k = 0; k < l.length; k++) {
				const least = k ? items[l[k - 1]].x + (items[l[k - 1]].w + items[l[k]].w) / 2 + 18 : -Infinity;
				items[l[k]].x = Math.max(want[k], least);
			}
			for (let k = l.length - 2; k >= 0; k--) {
				const most = items[l[k + 1]].x - (items[l[k]].w + items[l[k + 1]].w) / 2 - 18;
				const pull = Math.min(most, (items[l[k]].x + want[k]) / 2);
				if (pull > items[l[k]].x) items[l[k]].x = pull;
			}
		}
	const left = Math.min(...items.map(i => i.x - i.w / 2));
	items.forEach(i => { i.x -= left; });
	return {items, links, width: Math.max(...items.map(i => i.x + i.w / 2), 10), height: y};
}

function drawGraph(nodes, edges) {
	const box = el('div', {class: 'graph'}), inner = svg('g'), picture = svg('svg', {role: 'img', 'aria-label': 'graph'});
	if (!nodes.length)
		return el('p', {class: 'soft'}, 'There is nothing to draw.');
	const g = layout(nodes, edges);
	picture.append(svg('defs', {}, svg('marker', {id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse'}, svg('path', {d: 'M0 0 L8 4 L0 8 z'}))), inner);
	function tipped(e, title) {
		e.addEventListener('mousemove', event => showTip(event, title));
		e.addEventListener('mouseleave', hideTip);
	}
	for (const l of g.links) {
		const p = l.way.map((i, k) => [g.items[i].x, g.items[i].y + (k === 0 ? g.items[i].h / 2 : k === l.way.length - 1 ? -g.items[i].h / 2 : 0)]);
		let d = `M${p[0][0]} ${p[0][1]}`;
		for (let k = 1; k < p.length; k++) {
			const m = (p[k - 1][1] + p[k][1]) / 2;
			d += ` C${p[k - 1][0]} ${m} ${p[k][0]} ${m} ${p[k][0]} ${p[k][1]}`;
		}
		const e = edges[l.edge];
		const path = svg('path', {d, class: l.back ? 'back' : '', 'stroke-width': (1 + 3 * (e.weight || 0)).toFixed(1), [l.back ? 'marker-start' : 'marker-end']: 'url(#arrow)'});
		tipped(path, e.title || e.label);
		inner.append(path);
		if (e.label)
			inner.append(svg('text', {class: 'edge', x: (p[0][0] + p[1][0]) / 2 + 4, y: (p[0][1] + p[1][1]) / 2}, e.label));
	}
	nodes.forEach((n, i) => {
		const it = g.items[i], node = svg('g', {class: 'node' + (n.chosen ? ' chosen' : ''), tabindex: 0, role: 'button', 'aria-label': n.lines.join(' ')});
		const rect = svg('rect', {x: it.x - it.w / 2, y: it.y - it.h / 2, width: it.w, height: it.h, rx: 4});
		const loop = edges.find(e => e.from === i && e.to === i);
		if (n.heat)
			rect.style.fill = `rgb(var(--heat) / ${(0.08 + 0.5 * n.heat).toFixed(3)})`;
		node.append(rect, ...n.lines.map((t, k) => svg('text', {x: it.x - it.w / 2 + 8, y: it.y - it.h / 2 + 15 + 14 * k}, t)));
		if (loop)
			node.append(svg('text', {class: 'edge', x: it.x + it.w / 2 + 3, y: it.y + 4}, '↻ ' + loop.label));
		if (n.onclick) {
			node.addEventListener('click', n.onclick);
			node.addEventListener('keydown', e => { if (e.key === 'Enter') n.onclick(); });
		}
		tipped(node, n.title);
		inner.append(node);
	});
	box.append(picture);
	const start = g.items[Math.max(0, nodes.findIndex(n => n.chosen))];
	return el('div', {}, panZoom(box, picture, inner, g.width, g.height, start.x, start.y), box);
}
