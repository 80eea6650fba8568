/* The call graph: of the functions that cost most, or around one of them. */
const callNames = data.tree_names || [];
const callFunction = i => i < 0 ? null : functionByKey.get(callNames[i].join('\n')) || null;
const callText = i => i < 0 ? '(beginning)' : callNames[i][0];

function pairs(title, list, other) {
	return el('section', {}, el('h3', {}, title), table([
		{title: 'instructions', n: true, value: e => e[3], show: e => grouped(e[3])}, {title: '%', n: true, value: e => e[3], show: e => percent(e[3], data.facts.insns)}, {title: 'calls', n: true, value: e => e[2], show: e => grouped(e[2])},
		{title: 'function', wide: true, value: e => callText(e[other]), show: e => callFunction(e[other]) ? el('a', {href: '#calls=' + linkOf(callFunction(e[other])), title: callText(e[other])}, callText(e[other])) : callText(e[other])}], list));
}

function graphOf(edges, chosen) {
	const ids = [...new Set(edges.flatMap(e => [e[0], e[1]]).filter(i => i >= 0))], at = new Map(ids.map((id, i) => [id, i])), all = data.facts.insns;
	const nodes = ids.map(id => {
		const f = callFunction(id);
		return {lines: [callText(id).slice(0, 40), f ? `${percent(f.all, all)} (self ${percent(f.self, all)})` : ''], heat: f ? f.self / all : 0, chosen: id === chosen, title: callText(id) + '\n' + callNames[id][1] + (f ? `\n${grouped(f.all)} instructions with callees\n${grouped(f.self)} by itself\n${grouped(f.calls)} calls` : ''), onclick: f ? () => { location.hash = 'calls=' + linkOf(f); } : null};
	});
	return drawGraph(nodes, edges.filter(e => e[0] >= 0).map(e => ({from: at.get(e[0]), to: at.get(e[1]), label: '×' + scaled(e[2]), weight: e[3] / all, title: `${callText(e[0])} → ${callText(e[1])}\n${grouped(e[2])} calls, ${grouped(e[3])} instructions`})));
}

function callsView(root, name) {
	const edges = data.edges || [], all = data.facts.insns, f = name ? findFunction(name) : null;
	const id = f ? callNames.findIndex(([n, m]) => n === f.name && m === f.module) : -1;
	root.append(el('h2', {}, f ? 'Calls of ' + f.name : 'Call graph'));
	if (!edges.length) {
		root.append(el('p', {}, 'This recording does not tell calls.'));
		return;
	}
	if (id < 0) {
		root.append(el('p', {class: 'soft'}, 'The calls that cost most; darker functions execute more by themselves. Click one to go there.'), graphOf(edges.filter(e => e[0] >= 0 && e[3] > all / 200).slice(0, 70), -1), el('h3', {}, 'All pairs'), table([
			{title: 'instructions', n: true, value: e => e[3], show: e => grouped(e[3])}, {title: 'calls', n: true, value: e => e[2], show: e => grouped(e[2])}, {title: 'caller', wide: true, value: e => callText(e[0])}, {title: 'callee', wide: true, value: e => callText(e[1])}], edges));
		return;
	}
	const callers = edges.filter(e => e[1] === id), callees = edges.filter(e => e[0] === id), near = new Set([id, ...callers.slice(0, 8).map(e => e[0]), ...callees.slice(0, 12).map(e => e[1])]);
	root.append(el('p', {}, el('a', {href: '#function=' + linkOf(f)}, 'Its code'), ' · ', el('a', {href: '#calls'}, 'the whole call graph')), el('div', {class: 'two'}, pairs('Callers', callers, 0), pairs('Callees', callees, 1)), el('h3', {}, 'Around it'), graphOf(edges.filter(e => near.has(e[0]) && near.has(e[1])).slice(0, 60), id));
}
