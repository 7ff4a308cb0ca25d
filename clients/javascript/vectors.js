// SPDX-License-Identifier: BSD-3-Clause
/** What the shared vectors are compared with, in Node and in a browser; not part of the package. */
import { certify, randomize, readSpecification, report } from "./skprivate-client.js";
import "./more.js";

const asUint = (n) => BigInt.asUintN(64, n);

/** Word k of a step of report `index`: splitmix64. */
export function word(seed, index, step, k) {
	let z = asUint(BigInt(seed) + ((BigInt(index) << 20n) + (BigInt(step) << 18n) + BigInt(k) + 1n) * 0x9e3779b97f4a7c15n);
	z = asUint((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
	z = asUint((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
	return z ^ (z >> 31n);
}

export const source = (seed, index) => (step) => {
	let k = 0;
	return () => word(seed, index, step, k++);
};

export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** FNV-1a of 32 bits, of some bytes more. */
const checksum = (bytes, sum = 0x811c9dc5) => bytes.reduce((found, byte) => Math.imul(found ^ byte, 0x01000193) >>> 0, sum);

/** Number of reports of a file that were drawn and are as it says; an error names the first that is not. */
export async function compare(file) {
	if (file.specification) {
		const specification = await readSpecification(file.specification);
		file.answers.forEach(([x, y], i) => {
			const found = hex(report(specification, x, y, source(file.seed, i)));
			if (found !== file.reports[i]) throw new Error(`report ${i} of seed ${file.seed}: ${found}, not ${file.reports[i]}`);
		});
		return file.answers.length;
	}
	const randomizer = certify(file.randomizer);
	const K = BigInt(file.randomizer.n_cells * file.randomizer.n_labels);
	const each = file.first.length, sums = file.checksums.split(" ");
	let sum;
	for (let i = 0; i < file.n; i++) {
		const categories = Array.from({ length: file.randomizer.n_columns ?? 1 }, (_, j) => Number(word(file.seed, i, 0, j) % K));
		const bytes = randomize(randomizer, categories, source(file.seed, i));
		if (i < each && hex(bytes) !== file.first[i]) throw new Error(`report ${i} of seed ${file.seed}: ${hex(bytes)}`);
		sum = checksum(bytes, i % each ? sum : undefined);
		if (i % each === each - 1 && sum.toString(16).padStart(8, "0") !== sums[(i + 1) / each - 1]) {
			throw new Error(`reports to ${i} of seed ${file.seed}`);
		}
	}
	return file.n;
}
