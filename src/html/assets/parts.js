/* Parts that all views are made of: elements, tables, tips, panning and zooming. */
function el(tag, attributes, ...children) {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(attributes || {}))
		if (k.startsWith('on'))
			e.addEventListener(k.slice(2), v);
		else if (v !== null && v !== undefined && v !== false)
			e.setAttribute(k, v === true ? '' : v);
	e.append(...children.filter(c => c !== null && c !== undefined));
	return e;
}
function svg(tag, attributes, ...children) {
	const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
	for (const [k, v] of Object.entries(attributes || {}))
		e.setAttribute(k, v);
	e.append(...children);
	return e;
}

/* ---- tips ---- */

const tipBox = document.getElementById('tip');
function showTip(event, text) {
	tipBox.hidden = !text;
	if (!text)
		return;
	tipBox.textContent = text;
	const w = tipBox.offsetWidth, h = tipBox.offsetHeight;
	tipBox.style.left = Math.max(4, Math.min(innerWidth - w - 8, event.clientX + 14)) + 'px';
	tipBox.style.top = (event.clientY + 18 + h > innerHeight ? event.clientY - h - 10 : event.clientY + 18) + 'px';
}
const hideTip = () => { tipBox.hidden = true; };

/* ---- times along an axis ---- */

/* Round times between two, each behind a mark at x(time), in the colour that is set; y: of the text, which ends before w. */
function drawTicks(g, from, to, x, y, w) {
	const rough = Math.max((to - from) / 6, 1), ten = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find(k => k * ten >= rough) * ten;
	for (let k = Math.ceil(from / step); k * step <= to; k++) {
		const text = time(k * step).replace(/\.(\d*?)0+ /, (all, rest) => (rest && '.' + rest) + ' '), at = x(k * step);
		if (at + g.measureText(text).width + 4 > w)
			break;
		g.fillRect(at, y - 10, 1, 13);
		g.fillText(text, at + 4, y);
	}
}

/* A text as it is drawn, with its end cut off if it is wider than that. */
function shortened(g, text, width) {
	if (g.measureText(text).width <= width)
		return text;
	while (text && g.measureText(text + '…').width > width)
		text = text.slice(0, -1);
	return text + '…';
}

/* ---- buttons of which one is on ---- */

function choice(labels, chosen, onchange) {
	const box = el('span', {class: 'bar', role: 'group'});
	labels.forEach((label, i) => box.append(el('button', {'aria-pressed': String(i === chosen), onclick() {
		[...box.children].forEach((b, k) => b.setAttribute('aria-pressed', String(k === i)));
		onchange(i);
	}}, label)));
	return box;
}

/* ---- tables ----
 * columns: [{title, value: row => number or text, show: row => text or element, n: it is a number, part: row => 0..1, a bar behind it, wide: texts that may be long}]
 */
function table(columns, rows, {sort = 0, down = true, filter = '', onfilter = null, rest = ''} = {}) {
	const STEP = 200;
	let shown = STEP, text = filter, body = el('tbody'), count = el('span', {class: 'soft'});
	const search = el('input', {type: 'search', placeholder: 'filter', 'aria-label': 'Filter the table', value: filter, oninput() {
		text = search.value;
		shown = STEP;
		if (onfilter)
			onfilter(text);
		fill();
	}});
	const more = el('button', {onclick() { shown += 1000; fill(); }}, 'More rows');
	const share = 100 / columns.filter(c => c.wide).length, heads = columns.map((c, i) => el('th', {class: c.n ? 'n' : c.wide ? 'wide' : '', style: c.wide && `width: ${share}%`, scope: 'col'}, el('button', {onclick() {
		down = sort === i ? !down : !!c.n;
		sort = i;
		fill();
	}}, c.title)));
	function cell(c, row) {
		const text = c.show ? c.show(row) : String(c.value(row) ?? '');
		const td = el('td', {class: (c.n ? 'n' : c.wide ? 'wide' : '') + (c.part ? ' hot' : ''), title: !c.n && typeof text === 'string' && text}, text);
		if (c.part)
			td.style.setProperty('--part', (100 * c.part(row)).toFixed(1) + '%');
		return td;
	}
	function fill() {
		const words = text.toLowerCase().split(/\s+/).filter(Boolean), c = columns[sort];
		const found = words.length ? rows.filter(r => { const all = columns.map(k => k.value(r) ?? '').join(' ').toLowerCase(); return words.every(w => all.includes(w)); }) : rows.slice();
		if (c)
			found.sort((a, b) => { const x = c.value(a) ?? '', y = c.value(b) ?? ''; return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1); });
		heads.forEach((h, i) => {
			h.setAttribute('aria-sort', i === sort ? (down ? 'descending' : 'ascending') : 'none');
			h.firstChild.textContent = columns[i].title + (i === sort ? (down ? ' ▾' : ' ▴') : '');
		});
		body.replaceChildren(...found.slice(0, shown).map(r => el('tr', {}, ...columns.map(k => cell(k, r)))));
		count.textContent = `${grouped(Math.min(shown, found.length))} of ${grouped(found.length)} rows${rest}`;
		more.hidden = shown >= found.length;
	}
	fill();
	return el('div', {}, el('div', {class: 'bar'}, search, count, more), el('div', {class: 'scroll'}, el('table', {}, el('thead', {}, el('tr', {}, ...heads)), body)));
}

const functionLink = f => el('a', {href: '#function=' + linkOf(f), title: f.name}, f.name);

/* ---- a picture that can be moved and zoomed: by wheel, drag, buttons and keys ---- */

/* At first as much is shown around the point (startX, startY) as can be read. */
function panZoom(box, picture, inner, width, height, startX, startY) {
	let x = 0, y = 0, scale = 1, drag = null;
	const set = () => inner.setAttribute('transform', `translate(${x} ${y}) scale(${scale})`);
	function zoom(factor, cx, cy) {
		const next = Math.max(0.01, Math.min(6, scale * factor));
		x = cx - (cx - x) * next / scale;
		y = cy - (cy - y) * next / scale;
		scale = next;
		set();
	}
	/* Along one axis: the middle if all is to be seen, else the start near the beginning, without room left over at either end. */
	const place = (room, size, at, share) => size <= room - 20 ? (room - size) / 2 : Math.min(10, Math.max(room - size - 10, room * share - at));
	function fit(least = 0.01) {
		const w = box.clientWidth || 800, h = box.clientHeight || 500;
		scale = Math.min(1, Math.max(least, Math.min((w - 20) / width, (h - 20) / height)));
		x = place(w, width * scale, startX * scale, 0.5);
		y = height * scale <= h - 20 ? 10 : place(h, height * scale, startY * scale, 0.2);
		set();
	}
	const middle = f => zoom(f, box.clientWidth / 2, box.clientHeight / 2);
	picture.addEventListener('wheel', e => { e.preventDefault(); const r = box.getBoundingClientRect(); zoom(e.deltaY < 0 ? 1.15 : 1 / 1.15, e.clientX - r.left, e.clientY - r.top); }, {passive: false});
	picture.addEventListener('pointerdown', e => { drag = [e.clientX - x, e.clientY - y]; });
	picture.addEventListener('pointermove', e => { if (drag && e.buttons) { x = e.clientX - drag[0]; y = e.clientY - drag[1]; set(); } });
	picture.addEventListener('pointerup', () => { drag = null; });
	box.tabIndex = 0;
	box.addEventListener('keydown', e => {
		const moves = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]}[e.key];
		if (moves) { x += moves[0]; y += moves[1]; set(); }
		else if (e.key === '+' || e.key === '=') middle(1.25);
		else if (e.key === '-') middle(0.8);
		else if (e.key === '0') fit();
		else return;
		e.preventDefault();
		e.stopPropagation();
	});
	requestAnimationFrame(() => fit(0.8));
	return el('span', {class: 'bar'}, el('button', {onclick: () => middle(1.25), 'aria-label': 'Larger'}, '+'), el('button', {onclick: () => middle(0.8), 'aria-label': 'Smaller'}, '−'), el('button', {onclick: () => fit()}, 'Fit'));
}
