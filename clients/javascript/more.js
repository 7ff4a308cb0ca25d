// SPDX-License-Identifier: BSD-3-Clause
/** What few specifications need: a first phase, stresses, unary and Laplace reports. Import it for them. */
import { Draws, WORD, big, cells, check, expBelow, laws, mechanisms, pack, subset } from "./skprivate-client.js";

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

mechanisms.unary = [unary, () => 1n];
mechanisms.column = [
	(r, _, draws, categories, source) => {
		const column = new Draws(source(2)).below(big(r.n_columns));
		return Uint8Array.of(...pack(column, 2), ...subset(r, categories[column], draws));
	},
	mechanisms.subset[1],
];

const law = (zero, encode) => (stress) => (stress - zero > 0 ? encode(stress - zero) : NaN);
const perEv = (kelvin) => 1.602176634e-19 / 1.380649e-23 / kelvin;
Object.assign(laws, { arrhenius: law(-273.15, perEv), "arrhenius-kelvin": law(0, perEv), "inverse-power": law(0, Math.log) });

cells.columns = ({ groups, lower, upper, n_bins: n }, x) => {
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
		// Where rounding put cuts out of order, the largest so far counts.
		const above = cuts.findIndex((cut) => cut > x[at]);
		return above < 0 ? cuts.length : above;
	});
};

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
	mechanisms[name] = [laplace, (r, p, q) => (distance << big(r.exponent)) * q <= big(r.noise_scale) * p];
}
