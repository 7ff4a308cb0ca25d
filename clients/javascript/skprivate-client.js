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
export const clip = (x, low, high) => Math.min(Math.max(x, low), high);
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
		check(k >= 0 && k <= 64, "a draw of too many bits");
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

/** Number of codes, the next power of two. */
const padded = (r) => 1n << big(bitLength((r.signed ? big(r.n_cells) : r.K) - 1n));

function hadamard(r, category, draws) {
	const B = big(r.n_blocks), L = padded(r);
	const [code, label] = r.signed ? [category >> 1n, category & 1n] : [category, 1n];
	const rows = bitLength(L / B) - 1, shift = big(rows), row = draws.bits(rows);
	const ones = big((row & code).toString(2).replaceAll("0", "").length);
	const answer = draws.answer(r.T, 2n * (code >> shift) + (label ^ (ones & 1n)), 2n * B);
	return pack((((answer >> 1n << shift) | row) << 1n) | (answer & 1n), L <= 32768 ? 2 : 4);
}

function blocks(r) {
	const B = big(r.n_blocks), L = padded(r);
	return L <= 2n ** 31n && B <= L && !(B & (B - 1n)) && (!r.signed || r.n_labels === 2) && 2n * B - 1n;
}

/** By name: the draw of a report, the number of other answers (false: impossible sizes), and its own fields. */
export const mechanisms = {
	hadamard: [hadamard, blocks, "n_blocks", "signed", "threshold"],
	krr: [response, (r) => r.K - 1n, "threshold"],
	"label-rr": [response, (r) => big(r.n_labels) - 1n, "threshold"],
};

/** By kind of partition: the cell of encoded columns, or one in every declared column; numbers of cells, and of columns. */
export const cells = { leaf: [(partition, x) => [leaf(partition, x)], ({ feature }) => [feature.filter((split) => split < 0).length]] };
const kindOf = ({ feature, derived }) => (feature ? (derived ? "derived" : "leaf") : "columns");

const whole = /^[1-9]\d{0,9}$/, digits = /^"[1-9]\d{0,19}"$/;
/** How JSON writes the fields of a randomizer. */
const forms = {
	mechanism: /./, epsilon: /^"[1-9]\d{0,299}(\/[1-9]\d{0,299})?"$/, n_cells: whole, n_labels: whole, n_blocks: whole, subset_size: whole,
	n_columns: whole, signed: /^(true|false)$/, threshold: digits, noise_scale: digits, exponent: /^"([1-5]?\d|60)"$/,
};

/** Check that a specification's randomizer costs at most epsilon = p / q, and holds nothing else. */
export function certify(plan) {
	const { mechanism, n_cells, n_labels } = plan;
	check(typeof mechanism === "string" && Object.hasOwn(mechanisms, mechanism), "unknown mechanism: load more.js");
	const [draw, others, ...own] = mechanisms[mechanism], names = ["mechanism", "epsilon", "n_cells", "n_labels", ...own];
	const fits = names.every((name) => forms[name].test(JSON.stringify(plan[name])));
	check(fits && Object.keys(plan).length === names.length, "the randomizer has wrong fields");
	const [p, q = 1n] = plan.epsilon.split("/").map(big), K = big(n_cells) * big(n_labels);
	const T = big(plan.threshold ?? 0), d = big(plan.subset_size ?? 1), r = { ...plan, draw, T, d, K };
	const most = expBelow(p > 200n * q ? 200n * q : p, q), n = n_labels > 1 && K <= 2n ** 32n && others(r, p, q);
	// The odds of the true answer and of another, both ways.
	const odds = (one, other) => one * WORD ** 8n <= other * most;
	check(n === true || (n > 0n && T < WORD && odds(T * n, (WORD - T) * d) && odds((WORD - T) * d, T * n)), "it costs more than its epsilon");
	return r;
}

/** Draw a report of categories, n_labels * cell + label; `source` returns the words of a step. */
export function randomize(r, categories, source) {
	// No answer stops a report, even under a wrong specification.
	const known = categories.map((one) => big(one < r.K ? one : 0));
	return r.draw(r, known[0], new Draws(source(3)), known, source);
}

export function leaf({ feature, threshold }, z) {
	let leaves = 0, inner = 0, node = 0;
	const place = feature.map((split) => (split < 0 ? leaves++ : inner++));
	while (feature[node] >= 0) node = 2 * place[node] + (z[feature[node]] >= threshold[place[node]] ? 2 : 1);
	return place[node];
}

/** Text without the spaces around it. */
export function trim(text) {
	// Languages disagree on whether these are spaces.
	check(!/[\x1c-\x1f\x85\ufeff]/.test(text), "text must not hold a control character");
	return text.trim();
}

/** The encoding of a cell of a declared column. */
export const declared = {};

/**
 * Draw one person's report and forget it, for tests: a `Client` answers once.
 * @param {Object<string, Cell>} x
 * @param {Cell} y
 * @param {(step: number) => Words} [source] Also of step 1, the rounding of a number.
 */
export function report({ content, randomizer }, x, y, source = () => systemWords) {
	const { features, domain, target, partition, label } = content, { n_labels } = randomizer;
	check(Object.keys(x).length === features.length, "x must hold exactly the columns");
	const row = features.flatMap((name, i) => {
		if (domain) return declared.encode(domain.columns[i], x[name]);
		check(Number.isFinite(x[name]), `${name} must be a number`);
		return x[name];
	});
	let level;
	if (target.classes) {
		const plain = (one) => (typeof one === "string" ? trim(one) : Number(one));
		level = target.classes.findIndex((one) => plain(one) === plain(y ?? ""));
		check(level >= 0, `${label} must be one of the classes`);
	} else {
		const { lower, upper, levels } = target, half = upper / 2 - lower / 2, middle = lower / 2 + upper / 2;
		check(Number.isFinite(y), `${label} must be a number`);
		const share = (clip(y, lower, upper) / half - middle / half + 1) / 2, place = clip(share, 0, 1) * (levels - 1);
		level = Math.floor(place);
		if (Number(source(1)() >> 11n) < (place - level) * 2 ** 53) level++;
	}
	const own = cells[kindOf(partition)][0](partition, row);
	return randomize(randomizer, own.map((cell) => n_labels * cell + (level % n_labels)), source);
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, 0)).join("");

const sha256 = async (text) => hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));

/**
 * Check a specification's version, hash, integers and sizes.
 * @param {string} text
 * @param {string} [hash] As published at a second place.
 */
export async function readSpecification(text, hash) {
	const content = JSON.parse(text), { features, label, partition, target, domain } = content;
	check(content.format === "skprivate.tree" && content.version === 6, "this is not a specification of version 6");
	const digest = await sha256(text.trim().replace(`"hash":"${content.hash}",`, ""));
	check(content.hash === digest && (hash ?? digest) === digest, "the specification was changed or damaged");
	const randomizer = certify(content.randomizer), kind = kindOf(partition);
	check(cells[kind] && (declared.encode || !domain), "more.js is needed: load it");
	const [n_cells, n_columns] = cells[kind][1](partition), n_labels = target.classes?.length ?? target.levels;
	const sizes = n_cells === randomizer.n_cells && n_columns === randomizer.n_columns && n_labels === randomizer.n_labels;
	check(sizes, "the randomizer is for other cells or labels");
	const names = [...features, label, ...(target.classes ?? [])];
	check(!/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u.test(names.join("")), "a name has invisible characters");
	check(!domain?.columns.some((column) => column.format), "dates are in ISO 8601 only");
	return { content, hash: digest, randomizer };
}

/** Answers for one person, once. */
export class Client {
	/**
	 * @param {object} specification The result of `readSpecification`.
	 * @param {{store?: Storage, labelOnly?: boolean}} [options] labelOnly: agreed to label-rr.
	 */
	constructor(specification, { store = globalThis.localStorage, labelOnly = false } = {}) {
		const { content, hash, randomizer: r } = specification, { target, features, label } = content;
		check(labelOnly || r.mechanism !== "label-rr", "the label alone is hidden: agree by labelOnly");
		Object.assign(this, { specification, store, key: `skprivate ${hash}` });
		// Quoted, so that no name can look like a line of the label.
		const quote = (names) => names.map((one) => JSON.stringify(one)).join(", "), name = quote([label]), [p, q = 1] = r.epsilon.split("/");
		this.label = `Sent: one report, drawn at random, at most ${Math.exp(p / q).toPrecision(3)} times as likely for you as for others (epsilon ${r.epsilon}).
Hidden: ${r.mechanism === "label-rr" ? `only ${name}, not the other answers` : "all answers"}. Not hidden: that you answered, and when.
Asked: ${quote(features)}; and ${name} (${target.classes ? `one of ${quote(target.classes)}` : `a number between ${quote([target.lower, target.upper])}`}).
Specification: ${hash}`;
	}

	/** The stored report in hexadecimal, and the hash of its token; or nothing. */
	get kept() {
		return this.store.getItem(this.key)?.split(" ") ?? [];
	}

	/** The report that was drawn with this token. */
	async drawn(token) {
		const [report, hash] = this.kept;
		check(report, "no report is stored: answer first");
		check(hash === (await sha256(token)), "somebody answered here with another link");
		return report;
	}

	/** Draw and store the report, once. `shown` is the label that the person agreed to. */
	async answer(x, y, shown, token) {
		check(shown === this.label, "show the label, and pass it");
		check(token, "no token: use the whole link");
		const own = this.kept[0] ? "" : `${hex(report(this.specification, x, y))} ${await sha256(token)}`;
		const keep = () => {
			if (!this.kept[0]) this.store.setItem(this.key, own);
		};
		// Of two windows, one wins.
		await (globalThis.navigator?.locks?.request(this.key, keep) ?? keep());
		await this.drawn(token);
	}

	/** Send the stored report; a retry sends the same. */
	async send(url, token) {
		const own = await this.drawn(token), body = Uint8Array.from(own.match(/../g), (pair) => parseInt(pair, 16));
		const headers = {
			authorization: `Bearer ${token}`, "content-type": "application/octet-stream", specification: this.specification.hash,
		};
		const { status } = await fetch(url, { method: "POST", headers, body, credentials: "omit" });
		check(status === 204, `the service answered ${status}`);
	}
}
