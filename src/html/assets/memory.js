/* Memory over time: which addresses were read and written when. */
function memoryView(root) {
	const heat = data.heat, regions = heat.regions;
	root.append(el('h2', {}, 'Memory over time'));
	if (!regions.length) {
		root.append(el('p', {}, 'This recording holds no references.'));
		return;
	}
	const W = Math.max(600, (root.clientWidth || 1000) - 40), LEFT = 190, ROW = 3, GAP = 12, HEAD = 20, canvas = el('canvas', {role: 'img', 'aria-label': 'Heat map of memory over time', tabindex: 0}), box = el('div', {class: 'canvas', style: 'overflow:auto'}, canvas);
	/* Where there are several programs, whose memory it is stands above the regions of each. */
	const several = new Set(regions.map(r => r.thread)).size > 1, begins = regions.map((r, i) => several && (!i || regions[i - 1].thread !== r.thread));
	const owner = r => { const t = threadBySerial.get(r.thread); return t ? `${t.program} ${t.pid}` : ''; }, what = r => several ? `${r.name}, ${owner(r)}` : r.name;
	let kind = 0, y = 24;
	const cells = regions.map(r => {
		const rows = [];
		for (let i = 0; i < r.cells.length; i += 4)
			rows.push(r.cells.slice(i, i + 4));
		return rows;
	});
	const tops = regions.map((r, i) => { y += begins[i] ? HEAD : 0; const top = y; y += Math.max(r.rows * ROW, 14) + GAP; return top; }), height = y + 24;
	const value = c => kind === 0 ? c[2] + c[3] : kind === 1 ? c[2] : c[3];
	function draw() {
		const d = devicePixelRatio || 1, g = canvas.getContext('2d'), css = getComputedStyle(document.documentElement), color = n => css.getPropertyValue(n).trim();
		const most = Math.log(1 + cells.reduce((m, list) => list.reduce((k, c) => Math.max(k, value(c)), m), 1)), w = (W - LEFT) / heat.columns;
		canvas.width = W * d; canvas.height = height * d; canvas.style.width = W + 'px'; canvas.style.height = height + 'px';
		g.scale(d, d);
		regions.forEach((r, i) => {
			g.fillStyle = color('--text');
			g.font = 'bold 12px system-ui, sans-serif';
			if (begins[i])
				g.fillText(owner(r), 4, tops[i] - 7);
			g.font = '12px system-ui, sans-serif';
			g.fillText(shortened(g, r.name, LEFT - (several ? 20 : 10)), several ? 14 : 4, tops[i] + 11);
			g.fillStyle = color('--panel');
			g.fillRect(LEFT, tops[i], W - LEFT, Math.max(r.rows * ROW, 14));
			for (const c of cells[i]) {
				const v = value(c);
				if (!v) continue;
				g.fillStyle = `rgb(${color('--heat')} / ${(0.12 + 0.88 * Math.log(1 + v) / most).toFixed(3)})`;
				g.fillRect(LEFT + c[1] * w, tops[i] + c[0] * ROW, w + 0.5, ROW);
			}
		});
		g.fillStyle = color('--soft');
		for (const at of [14, height - 6])
			drawTicks(g, 0, data.span_ns, t => LEFT + t / (data.span_ns || 1) * (W - LEFT), at, W);
	}
	canvas.addEventListener('mousemove', e => {
		const b = canvas.getBoundingClientRect(), x = e.clientX - b.left, at = e.clientY - b.top, i = tops.findLastIndex(t => t <= at), r = regions[i];
		if (!r || x < LEFT) { showTip(e, r ? `${what(r)}\n${r.start}, ${bytes(r.bytes)}` : ''); return; }
		const row = Math.min(Math.floor((at - tops[i]) / ROW), r.rows - 1), column = Math.floor((x - LEFT) / (W - LEFT) * heat.columns), c = cells[i].find(k => k[0] === row && k[1] === column), address = BigInt(r.start) + BigInt(row) * BigInt(r.row_bytes);
		showTip(e, `${what(r)}, 0x${address.toString(16)}, ${bytes(r.row_bytes)}\nat ${time(data.span_ns * column / heat.columns)}: ${c ? `${grouped(c[2])} reads, ${grouped(c[3])} writes` : 'nothing'}`);
	});
	canvas.addEventListener('mouseleave', hideTip);
	const sum = (list, k) => list.reduce((s, c) => s + c[k], 0);
	root.append(el('p', {class: 'soft'}, `Time goes to the right, addresses go down; the darker, the more references (logarithmic). A row is at least ${bytes(heat.page)}.`), el('div', {class: 'bar'}, choice(['reads and writes', 'reads', 'writes'], 0, i => { kind = i; draw(); })), box);
	if (heat.left_out)
		root.append(el('p', {class: 'soft'}, `${grouped(heat.left_out)} references went to regions that are not drawn.`));
	root.append(el('h3', {}, 'Regions'), table([
		{title: 'reads', n: true, value: r => r.reads, show: r => grouped(r.reads)}, {title: 'writes', n: true, value: r => r.writes, show: r => grouped(r.writes)}, {title: 'from', value: r => r.start}, {title: 'bytes', n: true, value: r => r.bytes, show: r => bytes(r.bytes)}, {title: 'what', value: r => r.name}, ...(several ? [{title: 'of', value: r => r.of}] : [])],
	regions.map((r, i) => ({name: r.name, of: owner(r), start: r.start, bytes: r.bytes, reads: sum(cells[i], 2), writes: sum(cells[i], 3)}))));
	draw();
	onresize = null;
}
