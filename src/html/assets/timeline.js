/* Threads and processes over time, with their system calls and what else happened to them. */
const LANE = 26, GUTTER = 190;
const marks = {signal: 'S', fault: 'F', gap: 'G', program: 'P', fork: '+'};

function timelineView(root) {
	const all = Math.max(data.span_ns, ...threads.map(t => t.to), 1);
	let from = 0, to = all, hits = [];
	const lanes = threads.slice().sort((a, b) => a.from - b.from || a.serial - b.serial), laneOf = new Map(lanes.map((t, i) => [t.serial, i]));
	const canvas = el('canvas', {role: 'img', 'aria-label': 'Timeline of threads'}), box = el('div', {class: 'canvas', tabindex: 0, style: 'max-height:64vh;overflow-y:auto'}, canvas), range = el('span', {class: 'soft'});
	function draw() {
		const w = box.clientWidth || 900, h = 30 + LANE * lanes.length, d = devicePixelRatio || 1, g = canvas.getContext('2d'), css = getComputedStyle(document.documentElement), color = n => css.getPropertyValue(n).trim();
		const x = t => GUTTER + (t - from) / (to - from) * (w - GUTTER - 10);
		canvas.width = w * d; canvas.height = h * d; canvas.style.width = w + 'px'; canvas.style.height = h + 'px';
		g.scale(d, d);
		g.font = '12px system-ui, sans-serif';
		hits = [];
		g.fillStyle = color('--soft');
		drawTicks(g, from, to, x, 14, w);
		g.save();
		lanes.forEach((t, i) => {
			const y = 24 + i * LANE;
			g.fillStyle = color('--text');
			g.fillText(shortened(g, `${t.pid === t.tid ? 'process ' + t.pid : 'thread ' + t.tid} ${t.program}`, GUTTER - 12), 6, y + 15);
			g.fillStyle = color('--accent-soft');
			g.strokeStyle = color('--accent');
			const a = Math.max(GUTTER, x(t.from)), b = Math.min(w - 10, Math.max(x(t.to), x(t.from) + 2));
			if (b > a) { g.fillRect(a, y + 3, b - a, LANE - 8); g.strokeRect(a, y + 3, b - a, LANE - 8); hits.push([a, b, y, `${t.pid === t.tid ? 'process' : 'thread'} ${t.tid} (thread ${t.serial} of the recording)\n${t.program}\n${scaled(t.insns)} instructions, ${scaled(t.refs)} references\nfrom ${time(t.from)} to ${time(t.to)}`]); }
		});
		g.beginPath(); g.rect(GUTTER, 0, w - GUTTER - 8, h); g.clip();
		g.fillStyle = color('--text');
		for (const [thread, began, ended, text] of data.syscalls) {
			if (ended < from || began > to || !laneOf.has(thread))
				continue;
			const y = 24 + laneOf.get(thread) * LANE, a = x(began), b = Math.max(x(ended), a + 1);
			g.globalAlpha = 0.55;
			g.fillRect(a, y + 8, b - a, LANE - 18);
			hits.push([a - 1, b + 1, y, `${text}\n${time(ended - began)}, at ${time(began)}`]);
		}
		g.globalAlpha = 1;
		g.font = 'bold 11px system-ui, sans-serif';
		for (const [thread, at, kind, text] of data.events) {
			if (at < from || at > to || !laneOf.has(thread))
				continue;
			const y = 24 + laneOf.get(thread) * LANE, a = x(at);
			g.fillStyle = kind === 'fault' || kind === 'gap' ? color('--bad') : color('--accent');
			g.fillText(marks[kind] || '?', a - 4, y + 10);
			hits.push([a - 5, a + 6, y, `${kind}: ${text}\nat ${time(at)}`]);
		}
		g.restore();
		range.textContent = `${time(from)} to ${time(to)}`;
	}
	function zoom(factor, middle) {
		const length = Math.min(all, Math.max(all / 1e6, (to - from) * factor)), part = (middle - from) / (to - from);
		from = Math.max(0, Math.min(all - length, middle - part * length));
		to = from + length;
		draw();
	}
	function move(part) {
		const step = (to - from) * part, length = to - from;
		from = Math.max(0, Math.min(all - length, from + step));
		to = from + length;
		draw();
	}
	const at = e => from + (e.clientX - canvas.getBoundingClientRect().left - GUTTER) / (canvas.clientWidth - GUTTER - 10) * (to - from);
	canvas.addEventListener('wheel', e => { if (!e.ctrlKey && lanes.length > 20 && !e.shiftKey) return; e.preventDefault(); zoom(e.deltaY < 0 ? 0.8 : 1.25, at(e)); }, {passive: false});
	let drag = null;
	canvas.addEventListener('pointerdown', e => { drag = e.clientX; });
	canvas.addEventListener('pointerup', () => { drag = null; });
	canvas.addEventListener('pointermove', e => {
		if (drag !== null && e.buttons) { move((drag - e.clientX) / (canvas.clientWidth - GUTTER)); drag = e.clientX; return; }
		const r = canvas.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
		let hit = null;
		for (const h of hits)
			if (x >= h[0] && x <= h[1] && y >= h[2] && y < h[2] + LANE)
				hit = h;
		showTip(e, hit && hit[3]);
	});
	canvas.addEventListener('mouseleave', hideTip);
	box.addEventListener('keydown', e => {
		const act = {ArrowLeft: () => move(-0.1), ArrowRight: () => move(0.1), '+': () => zoom(0.7, (from + to) / 2), '=': () => zoom(0.7, (from + to) / 2), '-': () => zoom(1.4, (from + to) / 2), 0: () => { from = 0; to = all; draw(); }}[e.key];
		if (act) { act(); e.preventDefault(); e.stopPropagation(); }
	});
	const sums = new Map();
	for (const [thread, name, calls, ns] of data.syscall_sums) {
		const s = sums.get(name) || {name, calls: 0, ns: 0};
		s.calls += calls;
		s.ns += ns;
		sums.set(name, s);
	}
	root.append(el('h2', {}, 'Timeline'), el('p', {class: 'soft'}, 'A bar is a thread’s life; dark within it are system calls. S signal, F fault, G gap, P program begins, + made a thread or process. Drag, Ctrl-wheel, arrows, + and − move and zoom.'),
		el('div', {class: 'bar'}, el('button', {onclick: () => zoom(0.6, (from + to) / 2), 'aria-label': 'Larger'}, '+'), el('button', {onclick: () => zoom(1.6, (from + to) / 2), 'aria-label': 'Smaller'}, '−'), el('button', {onclick() { from = 0; to = all; draw(); }}, 'All'), range), box);
	if (data.all_syscalls > data.syscalls.length)
		root.append(el('p', {class: 'soft'}, `Of ${grouped(data.all_syscalls)} system calls the ${grouped(data.syscalls.length)} longest are drawn.`));
	root.append(el('div', {class: 'two'}, el('section', {}, el('h3', {}, 'System calls by name'), table([
		{title: 'time', n: true, value: s => s.ns, show: s => time(s.ns)}, {title: 'calls', n: true, value: s => s.calls, show: s => grouped(s.calls)}, {title: 'call', value: s => s.name}], [...sums.values()])),
	el('section', {}, el('h3', {}, 'The longest'), table([
		{title: 'time', n: true, value: c => c[2] - c[1], show: c => time(c[2] - c[1])}, {title: 'at', n: true, value: c => c[1], show: c => time(c[1])}, {title: 'thread', n: true, value: c => c[0]}, {title: 'call', wide: true, value: c => c[3]}], data.syscalls))));
	root.append(el('h3', {}, 'Threads'), table([
		{title: 'thread', n: true, value: t => t.serial}, {title: 'pid', n: true, value: t => t.pid}, {title: 'tid', n: true, value: t => t.tid}, {title: 'program', value: t => t.program},
		{title: 'instructions', n: true, value: t => t.insns, show: t => grouped(t.insns), part: t => t.insns / data.facts.insns}, {title: 'references', n: true, value: t => t.refs, show: t => grouped(t.refs)}, {title: 'from', n: true, value: t => t.from, show: t => time(t.from)}, {title: 'to', n: true, value: t => t.to, show: t => time(t.to)}], threads, {sort: 4}));
	requestAnimationFrame(draw);
	onresize = draw;
}
