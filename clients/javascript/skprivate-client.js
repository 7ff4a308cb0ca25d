// SPDX-License-Identifier: BSD-3-Clause
/**
 * One locally private report, as doc/report_format.rst says.
 *
 * @typedef {() => bigint} Words Returns 64 fresh random bits.
 * @typedef {null|boolean|number|string} Cell
 */

export const big = BigInt, WORD = big(2) ** 64n;
export const check = (holds, message) => {
	if (!holds) throw new Error(message);
};
const clip = (x, low, high) => Math.min(Math.max(x, low), high);
const bitLength = (n) => (n ? n.toString(2).length : 0);

/** @type {Words} */
const systemWords = () => crypto.getRandomValues(new BigUint64Array(1))[0];

/** Draws in integers; bits left over from a word go to the next draw. */
export class Draws {
	rest = 0n;
	size = 0;

	/** @param {Words} next */
	constructor(next) {
		this.next = next;
	}

	bits(k) {
		if (k === 64) return this.next();
		let value = this.rest, left = this.size - k;
		if (left < 0) {
			const fresh = this.next();
			value |= fresh << big(this.size);
			this.rest = fresh >> big(-left);
			left += 64;
		} else this.rest >>= big(k);
		this.size = left;
		return big.asUintN(k, value);
	}

	below(n) {
		const k = bitLength(n - 1n);
		let value;
		do value = this.bits(k);
		while (value >= n);
		return value;
	}

	isBelow(threshold) {
		const value = this.bits(16), head = threshold >> 48n;
		return value === head ? this.bits(48) < big.asUintN(48, threshold) : value < head;
	}

	/** The true one of n answers, or another. */
	answer(threshold, own, n) {
		return this.isBelow(threshold) ? own % n : (own + 1n + this.below(n - 1n)) % n;
	}
}

/** Bytes of an integer, the lowest first. */
export const pack = (n, width) => Uint8Array.from({ length: width }, (_, i) => Number(big.asUintN(8, n >> big(8 * i))));

/** Just below 2^512 e^(p / q). */
export function expBelow(p, q) {
	let sum = 0n;
	for (let term = WORD ** 8n, k = 0n; term; term = (term * p) / (q * ++k)) sum += term;
	return sum;
}


function response(r, category, draws) {
	const n = r.mechanism === "krr" ? r.K : big(r.n_labels);
	const own = category % n;
	return pack(category - own + draws.answer(r.T, own, n), r.K <= 65536 ? 2 : 4);
}

function hadamard(r, category, draws) {
	const B = big(r.n_blocks), L = 1n << big(bitLength((r.signed ? big(r.n_cells) : r.K) - 1n));
	const [code, label] = r.signed ? [category >> 1n, category & 1n] : [category, 1n];
	const rows = bitLength(L / B) - 1, shift = big(rows), row = draws.bits(rows);
	const ones = big((row & code).toString(2).replaceAll("0", "").length);
	const answer = draws.answer(r.T, 2n * (code >> shift) + (label ^ (ones & 1n)), 2n * B);
	return pack((((answer >> 1n << shift) | row) << 1n) | (answer & 1n), L <= 32768 ? 2 : 4);
}

export function subset({ K, T, d }, category, draws) {
	const k = bitLength(K - 1n), width = Math.min(k + 6, 64 - k), size = 1n << big(width);
	const own = big(draws.isBelow(T));
	let set = own << category;
	// Floyd's algorithm on the others, from the category on.
	for (let n = K - d + own; n < K; n++) {
		let product;
		do product = n * draws.bits(width);
		while (product % size < size % n);
		const drawn = (category + 1n + product / size) % K;
		set |= 1n << ((set >> drawn) & 1n ? (category + n) % K : drawn);
	}
	return pack(set, Math.ceil(Number(K) / 8));
}

/** By name: the draw of a report, and the number of other answers, times `subset_size` where there is one. */
export const mechanisms = {
	hadamard: [hadamard, (r) => 2n * big(r.n_blocks) - 1n],
	krr: [response, (r) => r.K - 1n],
	"label-rr": [response, (r) => big(r.n_labels) - 1n],
	subset: [subset, (r) => r.K - r.d],
};

/** The cell of encoded columns, or one in every declared column. */
export const cells = { leaf: (partition, x) => [leaf(partition, x)] };

/** Check that the integers of a specification's randomizer cost at most epsilon = p / q. */
export function certify(plan) {
	const [draw, others] = mechanisms[plan.mechanism] ?? [], [p, q = 1n] = plan.epsilon.split("/").map(big);
	const T = big(plan.threshold ?? 0), d = big(plan.subset_size ?? 1), K = big(plan.n_cells * plan.n_labels);
	const r = { ...plan, draw, T, d, K }, most = expBelow(p > 200n * q ? 200n * q : p, q), n = draw && others(r, p, q);
	// The odds of the true answer and of another, both ways.
	const odds = (one, other) => one * WORD ** 8n <= other * most;
	check(n === true || (n && T < WORD && odds(T * n, (WORD - T) * d) && odds((WORD - T) * d, T * n)), "no such epsilon");
	return r;
}

/** Draw a report of categories, n_labels * cell + label; `source` returns the words of a step. */
export function randomize(r, categories, source) {
	// Even under a wrong specification, no answer stops a report.
	const known = categories.map((one) => big(one < r.K ? one : 0));
	return r.draw(r, known[0], new Draws(source(3)), known, source);
}

function leaf({ feature, threshold, derived }, x) {
	const z = derived ? derived.columns.map((column) => derive(column, x)) : x;
	let leaves = 0, inner = 0, node = 0;
	const place = feature.map((split) => (split < 0 ? leaves++ : inner++));
	while (feature[node] >= 0) node = 2 * place[node] + (z[feature[node]] >= threshold[place[node]] ? 2 : 1);
	return place[node];
}

function derive({ kind, column, indicator, place, lower, upper, start, places, absent }, x) {
	const missing = x[indicator] > 0.5;
	if (kind === "value") return x[column];
	if (kind === "filled") return missing ? place : clip(x[column], lower, upper);
	if (missing) return places.at(-1);
	const n = places.length - (indicator === null ? 0 : 1);
	return places[x.slice(start, start + n).indexOf(1)] ?? absent;
}

const flags = { __proto__: null, true: 1, yes: 1, 1: 1, false: 0, no: 0, 0: 0 };
const flagOf = (cell) => flags[String(cell).toLowerCase()] ?? NaN;

/** Milliseconds since 1970 of an ISO 8601 date, or time of UTC. */
function timeOf(cell) {
	const text = String(cell);
	const at = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?$/.test(text) ? Date.parse(text.length > 10 ? `${text}Z` : text) : NaN;
	// The 30th of February is none.
	return new Date(at || 0).toJSON().startsWith(text.slice(0, 10)) ? at : NaN;
}

/** What numbers are encoded as. */
export const laws = { undefined: (value) => value };

/** The value of a cell by its declaration; NaN where it has none. */
function valueOf({ kind, levels, law, lower }, cell) {
	if (kind === "boolean") return flagOf(cell);
	if (kind === "date") return ((timeOf(cell) - timeOf(lower)) * 1000) / 864e8;
	if (levels) {
		const place = levels.indexOf(typeof levels[0] === "boolean" ? [false, true][flagOf(cell)] : cell);
		return place < 0 ? NaN : place;
	}
	const value = typeof cell === "number" ? laws[law](cell) : NaN;
	return isFinite(value) ? value : NaN;
}

/** The encoded columns of a cell. */
function encode(column, cell) {
	const { name, kind, missing, fill, levels, ordered, lower, upper } = column;
	if (typeof cell === "string") cell = cell.trim();
	let value = valueOf(column, cell);
	const absent = cell == null || cell === "" || cell !== cell
		|| column.missing_values.some((mark) => String(mark) === String(cell) || valueOf(column, mark) === value);
	check(!absent || missing !== "error", `${name} is missing`);
	if (absent) {
		const ends = levels ?? (kind === "boolean" ? [false, true] : [lower, upper]);
		const [low, high] = [ends[0], ends.at(-1)].map((end) => valueOf(column, end));
		value = fill !== null ? valueOf(column, fill) : levels && !ordered ? -1 : low / 2 + high / 2;
	}
	check(value === value, `${name} has no such value`);
	const own = levels && !ordered ? levels.map((_, place) => Number(place === value)) : [value];
	return missing === "indicator" ? [...own, Number(absent)] : own;
}

/**
 * Draw one person's report and forget it, for tests: a `Client` answers once.
 * @param {Object<string, Cell>} x
 * @param {Cell} y
 * @param {(step: number) => Words} [source] Also of step 1, the rounding of a number.
 */
export function report({ content, randomizer }, x, y, source = () => systemWords) {
	const { features, domain, target, partition, label } = content, { n_labels } = randomizer;
	check(Object.keys(x).length === features.length, "x must hold the columns");
	const row = features.flatMap((name, i) => {
		if (domain) return encode(domain.columns[i], x[name]);
		check(Number.isFinite(x[name]), `${name} must be a number`);
		return x[name];
	});
	let level;
	if (target.classes) {
		const plain = (one) => (typeof one === "string" ? one.trim() : Number(one));
		level = target.classes.findIndex((one) => plain(one) === plain(y ?? ""));
		check(level >= 0, `${label} must be one of the classes`);
	} else {
		const { lower, upper, levels } = target, half = upper / 2 - lower / 2, middle = lower / 2 + upper / 2;
		check(Number.isFinite(y), `${label} must be a number`);
		const share = (clip(y, lower, upper) / half - middle / half + 1) / 2, place = clip(share, 0, 1) * (levels - 1);
		level = Math.floor(place);
		if (Number(source(1)() >> 11n) < (place - level) * 2 ** 53) level++;
	}
	const own = cells[partition.feature ? "leaf" : "columns"](partition, row);
	return randomize(randomizer, own.map((cell) => n_labels * cell + (level % n_labels)), source);
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, 0)).join("");

/**
 * Check a specification's version, hash and integers.
 * @param {string} text
 * @param {string} [hash] As published at a second place.
 */
export async function readSpecification(text, hash) {
	const content = JSON.parse(text);
	check(content.format === "skprivate.tree" && content.version === 6, "no specification of version 6");
	const rest = text.trim().replace(`"hash":"${content.hash}",`, "");
	const digest = hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(rest))));
	check(content.hash === digest && (hash ?? digest) === digest, "changed specification");
	return { content, hash: digest, randomizer: certify(content.randomizer) };
}

/** Answers for one person, once. */
export class Client {
	/**
	 * @param {object} specification What `readSpecification` returned.
	 * @param {{store?: Storage, labelOnly?: boolean}} [options] labelOnly: agreed to label-rr.
	 */
	constructor(specification, { store = globalThis.localStorage, labelOnly = false } = {}) {
		const { content, hash, randomizer: r } = specification, { target, features, label } = content;
		check(labelOnly || r.mechanism !== "label-rr", "the label alone is hidden");
		Object.assign(this, { specification, store, key: `skprivate ${hash}` });
		const asked = target.classes?.join(", ") ?? `a number from ${target.lower} to ${target.upper}`, [p, q = 1] = r.epsilon.split("/");
		this.label = `Asked: ${features.join(", ")}; and ${label} (${asked}).
Sent: one report, drawn at random, at most ${Math.exp(p / q).toPrecision(3)} times as likely for you as for others (epsilon ${r.epsilon}).
Hidden: ${r.mechanism === "label-rr" ? `${label} alone; the others show` : "all answers"}. Not hidden: that you answered, and when.
Specification: ${hash}`;
	}

	/** The drawn report in hexadecimal, or null. */
	get drawn() {
		return this.store.getItem(this.key);
	}

	/** Draw and store the report, once. `shown` is the label that the person agreed to. */
	async answer(x, y, shown) {
		check(shown === this.label, "show the label");
		const own = this.drawn ?? hex(report(this.specification, x, y));
		const keep = () => {
			if (!this.drawn) this.store.setItem(this.key, own);
		};
		// One of two windows wins.
		await (globalThis.navigator?.locks?.request(this.key, keep) ?? keep());
		check(this.drawn, "not stored");
	}

	/** Send the stored report; a retry sends the same. */
	async send(url, token) {
		const body = Uint8Array.from(this.drawn.match(/../g), (digits) => parseInt(digits, 16));
		const headers = {
			authorization: `Bearer ${token}`, "content-type": "application/octet-stream", specification: this.specification.hash,
		};
		const { status } = await fetch(url, { method: "POST", headers, body, credentials: "omit" });
		check(status === 204, `the service answered ${status}`);
	}
}
