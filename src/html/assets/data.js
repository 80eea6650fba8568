'use strict';
/* The data of the page, as objects; and numbers as people read them. */
const data = JSON.parse(document.getElementById('data').textContent);

const functions = data.functions.map(([name, module, file, line, self, all, reads, writes, calls, misses, lastMisses], number) =>
	({number, name, module, file, line, self, all, reads, writes, calls, misses, lastMisses, refs: reads + writes}));
const functionByKey = new Map(functions.map(f => [f.name + '\n' + f.module, f]));
const functionByName = new Map();
for (const f of functions)
	if (!functionByName.has(f.name))
		functionByName.set(f.name, f);
const threads = data.threads.map(([serial, pid, tid, from, to, insns, refs, program]) => ({serial, pid, tid, from, to, insns, refs, program}));
const threadBySerial = new Map(threads.map(t => [t.serial, t]));

/* "NAME" or "NAME@MODULE", as links have it. */
function findFunction(text) {
	const at = text.lastIndexOf('@');
	return functionByName.get(text) || (at > 0 && functionByKey.get(text.slice(0, at) + '\n' + text.slice(at + 1))) || null;
}
function linkOf(f) {
	return encodeURIComponent(functionByName.get(f.name) === f ? f.name : f.name + '@' + f.module);
}

/* The code of a function: in the page, or asked for. */
async function codeOf(f) {
	if (data.code[f.number])
		return data.code[f.number];
	if (!data.served)
		return null;
	const answer = await fetch('function/' + f.number);
	return answer.ok ? data.code[f.number] = await answer.json() : null;
}

/* ---- numbers ---- */

const grouped = n => Math.round(n).toLocaleString('en-US');
function scaled(n) {
	const units = ['', 'k', 'M', 'G', 'T', 'P'];
	let k = 0;
	for (; n >= 1000 && k < units.length - 1; k++)
		n /= 1000;
	return k ? n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0) + ' ' + units[k] : String(Math.round(n));
}
function bytes(n) {
	const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
	let k = 0;
	for (; n >= 1024 && k < units.length - 1; k++)
		n /= 1024;
	return (k && n < 10 ? n.toFixed(1) : Math.round(n)) + ' ' + units[k];
}
function time(ns) {
	if (!data.facts.has_time)
		return scaled(ns) + ' cycles';
	return ns >= 1e9 ? (ns / 1e9).toFixed(3) + ' s' : ns >= 1e6 ? (ns / 1e6).toFixed(3) + ' ms' : ns >= 1e3 ? (ns / 1e3).toFixed(1) + ' µs' : Math.round(ns) + ' ns';
}
const percent = (n, all) => all ? (100 * n / all).toFixed(2) + ' %' : '';
