// SPDX-License-Identifier: BSD-3-Clause
/** Declared columns, a first phase, and reports by subsets, unary and Laplace. A page may always import it. */
import { Draws, WORD, big, cells, check, clip, declared, expBelow, leaf, mechanisms, pack, trim } from "./skprivate-client.js";

function subset({ K, T, d }, category, draws) {
	const k = (K - 1n).toString(2).length, width = Math.min(k + 6, 64 - k), size = 1n << big(width);
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

function unary({ K, T }, category, draws) {
	let set = 0n;
	for (let start = 0n; start < K; start += 64n) {
		let ones = 0n, open = WORD - 1n;
		for (let digit = 63n; digit > 59n; digit--) {
			const drawn = draws.bits(64);
			if ((T >> digit) & 1n) open &= drawn;
			else (ones |= open & drawn), (open &= ~drawn);
		}
		for (let lane = 0n; lane < 64n; lane++) {
			if (!((open >> lane) & 1n)) continue;
			let digit = 60n, drawn = 1n;
			while (digit-- && (drawn = draws.bits(1)) === ((T >> digit) & 1n));
			if (digit < 0n || drawn) ones |= 1n << lane;
		}
		set |= ones << start;
	}
	set = (set & ~(1n << category)) | (draws.bits(1) << category);
	return pack(big.asUintN(Number(K), set), Math.ceil(Number(K) / 8));
}

mechanisms.subset = [subset, (r) => r.K - r.d, "subset_size", "threshold"];
mechanisms.unary = [unary, () => 1n, "threshold"];
mechanisms.column = [
	(r, _, draws, categories, source) => {
		const column = new Draws(source(2)).below(big(r.n_columns));
		return Uint8Array.of(...pack(column, 2), ...subset(r, categories[column], draws));
	},
	(r) => r.n_columns <= 65536 && r.K - r.d,
	"n_columns", "subset_size", "threshold",
];

const flags = { __proto__: null, true: 1, yes: 1, 1: 1, false: 0, no: 0, 0: 0 };
const flagOf = (cell) => flags[String(cell).toLowerCase()] ?? NaN;

/** Milliseconds since 1970 of an ISO 8601 date, or time of UTC. */
function timeOf(cell) {
	const text = String(cell);
	const at = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?$/.test(text) ? Date.parse(text.length > 10 ? `${text}Z` : text) : NaN;
	// The 30th of February is not a date.
	return new Date(at || 0).toJSON().startsWith(text.slice(0, 10)) ? at : NaN;
}

/** The encoding of numbers. */
const laws = { undefined: (value) => value };

/** The value of a cell by its declaration; NaN if it has none. */
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
	if (typeof cell === "string") cell = trim(cell);
	let value = valueOf(column, cell);
	const absent = cell == null || cell === "" || cell !== cell
		|| column.missing_values.some((mark) => String(mark) === String(cell) || valueOf(column, mark) === value);
	check(!absent || missing !== "error", `${name} is missing`);
	if (absent) {
		const ends = levels ?? (kind === "boolean" ? [false, true] : [lower, upper]);
		const [low, high] = [ends[0], ends.at(-1)].map((end) => valueOf(column, end));
		value = fill !== null ? valueOf(column, fill) : levels && !ordered ? -1 : low / 2 + high / 2;
	}
	check(value === value, `${name} cannot have this value`);
	const own = levels && !ordered ? levels.map((_, place) => Number(place === value)) : [value];
	return missing === "indicator" ? [...own, Number(absent)] : own;
}
declared.encode = encode;

const law = (zero, encode) => (stress) => (stress - zero > 0 ? encode(stress - zero) : NaN);
const perEv = (kelvin) => 1.602176634e-19 / 1.380649e-23 / kelvin;
Object.assign(laws, { arrhenius: law(-273.15, perEv), "arrhenius-kelvin": law(0, perEv), "inverse-power": law(0, Math.log) });

function columns({ groups, lower, upper, n_bins: n }, x) {
	let start = 0;
	return (groups ?? lower.map(() => ({ n_levels: 0, values: [] }))).map(({ n_levels, values, indicator }) => {
		const at = start;
		start += Math.max(n_levels, 1) + (indicator ? 1 : 0);
		const absent = indicator && x[start - 1] > 0.5;
		if (n_levels) {
			const level = x.slice(at, at + n_levels).indexOf(1), most = Math.min(n_levels, 128);
			return absent || level < 0 ? most : Math.floor((level * most) / n_levels);
		}
		const byValue = values.length > 1 && values.length <= n;
		const cuts = byValue
			? values.slice(1).map((value, i) => (values[i] + value) / 2)
			: Array.from({ length: n - 1 }, (_, i) => lower[at] * (1 - (i + 1) / n) + upper[at] * ((i + 1) / n));
		if (absent) return cuts.length + 1;
		// If rounding puts cuts out of order, the largest so far counts.
		const above = cuts.findIndex((cut) => cut > x[at]);
		return above < 0 ? cuts.length : above;
	});
}

cells.columns = [columns, ({ groups, lower, n_bins: n }) => {
	const bins = ({ values, indicator }) => (values.length > 1 && values.length <= n ? values.length : n) + (indicator ? 1 : 0);
	const sizes = groups?.map((group) => (group.n_levels ? Math.min(group.n_levels, 128) + 1 : bins(group)));
	return [sizes ? Math.max(...sizes) : n, (groups ?? lower).length];
}];

function derive({ kind, column, indicator, place, lower, upper, start, places, absent }, x) {
	const missing = x[indicator] > 0.5;
	if (kind === "value") return x[column];
	if (kind === "filled") return missing ? place : clip(x[column], lower, upper);
	if (missing) return places.at(-1);
	const n = places.length - (indicator === null ? 0 : 1);
	return places[x.slice(start, start + n).indexOf(1)] ?? absent;
}
cells.derived = [
	(partition, x) => [leaf(partition, partition.derived.columns.map((column) => derive(column, x)))],
	cells.leaf[1],
];

/** True with probability a / b, by digits of base 256. */
function ratio(draws, a, b) {
	for (; a !== b; a %= b) {
		if (a === 0n) return false;
		a <<= 8n;
		const drawn = draws.bits(8);
		if (drawn !== a / b) return drawn < a / b;
	}
	return true;
}

const survival = (j, bits) => (1n << (512n + bits)) / expBelow(j, 16n);
const HEADS = Array.from({ length: 64 }, (_, j) => survival(big(j + 1), 16n));

/** J with P(J >= j) = e^(-j / 16), from the first 16 bits of a uniform number. */
function geometric(draws, head) {
	for (let total = 0n; ; total += 64n, head = draws.bits(16)) {
		let j = HEADS.filter((one) => head < one).length;
		if (head === HEADS[j]) {
			let drawn = (head << 48n) | draws.bits(48), bits = 64n;
			for (; drawn === survival(big(j + 1), bits); bits += 32n) drawn = (drawn << 32n) | draws.bits(32);
			if (drawn < survival(big(j + 1), bits)) j += 1;
		}
		if (j < 64) return total + big(j);
		check(total < 16n * 1024n, "a draw of a probability below e^-1000");
	}
}

/** Discrete Laplace noise of scale t. */
function noise(draws, t) {
	for (;;) {
		const head = draws.bits(25), j = geometric(draws, head >> 9n), w = draws.below(t);
		const digit = big.asUintN(8, head >> 1n), first = (16n * w) / t;
		// Kept with probability e^(-w / (16 t)): if the first trial that fails is an odd one.
		let k = 1n, passed = digit === first ? ratio(draws, 16n * w - first * t, t) : digit < first;
		for (; passed; passed = ratio(draws, w, 16n * t)) {
			k += 1n;
			if (!(k === 2n ? draws.bits(1) : k === 3n ? !draws.below(3n) : ratio(draws, 1n, k))) break;
		}
		const size = t * (j / 16n) + (t * (j % 16n) + w) / 16n;
		if (k & 1n && (size || !(head & 1n))) return head & 1n ? -size : size;
	}
}

function laplace(r, category, draws) {
	const label = category & 1n, signed = r.mechanism === "signed-laplace";
	const numbers = Array.from({ length: signed ? r.n_cells : 2 * r.n_cells }, (_, i) => {
		const own = signed ? 2n * label - 1n : i < r.n_cells ? 1n : label;
		const exact = big(i % r.n_cells) === category >> 1n ? own : 0n;
		return pack((exact << big(r.exponent)) + noise(draws, big(r.noise_scale)), 8);
	});
	return Uint8Array.from(numbers.flatMap((bytes) => [...bytes]));
}

for (const [name, distance] of [["laplace", 4n], ["signed-laplace", 2n]]) {
	const fits = (r, p, q) => {
		const scale = big(r.noise_scale);
		return r.n_labels === 2 && scale < 2n ** 63n && (distance << big(r.exponent)) * q <= scale * p;
	};
	mechanisms[name] = [laplace, fits, "exponent", "noise_scale"];
}
