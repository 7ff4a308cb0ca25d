// SPDX-License-Identifier: BSD-3-Clause
/** node --test: the shared vectors, and what a client refuses. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { Client, certify, randomize, readSpecification } from "./skprivate-client.js";
import { compare, hex } from "./vectors.js";

const folder = new URL("../../tests/collection/vectors/", import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(name, folder), "utf8"));
const [plain, words, labelOnly] = [101, 102, 103].map((seed) => read(`specification-${seed}.json`));

for (const name of readdirSync(folder)) test(name, async () => assert.ok(await compare(read(name))));

const memory = () => {
	const held = new Map();
	return { getItem: (key) => held.get(key) ?? null, setItem: (key, value) => held.set(key, value) };
};
const answer = { x0: 0.2, x1: 1.5 };

test("answers once, with words of the system, and sends the same bytes again", async () => {
	const specification = await readSpecification(plain.specification), store = memory();
	const client = new Client(specification, { store });
	await assert.rejects(client.answer(answer, 1, "another label", "ticket"), /show the label/);
	await assert.rejects(client.answer(answer, 1, client.label), /no token/);
	await assert.rejects(client.send("/reports", "ticket"), /no report is stored/);
	await client.answer(answer, 1, client.label, "ticket");
	const first = client.kept[0], sent = [];
	globalThis.fetch = async (url, { body, headers }) => {
		sent.push(hex(body));
		if (sent.length === 1) throw new TypeError("offline");
		assert.equal(headers.authorization, "Bearer ticket");
		return { status: 204 };
	};
	await assert.rejects(client.send("/reports", "ticket"), /offline/);
	const again = new Client(specification, { store });
	for (let i = 0; i < 50; i++) await again.answer({ x0: "not looked at" }, 0, again.label, "ticket");
	await again.send("/reports", "ticket");
	// Another person at this browser does not send this one's report, and draws none.
	await assert.rejects(again.answer(answer, 0, again.label, "other"), /another link/);
	await assert.rejects(again.send("/reports", "other"), /another link/);
	assert.deepEqual(sent, [first, first]);
	globalThis.fetch = async () => ({ status: 409 });
	await assert.rejects(again.send("/reports", "ticket"), /409/);
});

test("keeps the report of another window", async () => {
	const kept = [], looks = [null], own = `0100 ${createHash("sha256").update("ticket").digest("hex")}`;
	const store = { getItem: () => (looks.length ? looks.pop() : own), setItem: (_, value) => kept.push(value) };
	const client = new Client(await readSpecification(plain.specification), { store });
	await client.answer(answer, 1, client.label, "ticket");
	assert.deepEqual([kept, await client.drawn("ticket")], [[], "0100"]);
});

test("draws nothing where it cannot be kept", async () => {
	const client = new Client(await readSpecification(plain.specification), { store: { getItem: () => null, setItem() {} } });
	await assert.rejects(client.answer(answer, 1, client.label, "ticket"), /no report is stored/);
});

test("shows what is asked, and what is not hidden", async () => {
	const { label } = new Client(await readSpecification(words.specification), { store: memory() });
	for (const part of ['"x0", "x1"', '"class 0", "class 1"', "epsilon 2", "7.39 times", "Hidden: all answers"]) assert.match(label, RegExp(part));
	const specification = await readSpecification(labelOnly.specification);
	assert.throws(() => new Client(specification, { store: memory() }), /label alone/);
	assert.match(new Client(specification, { store: memory(), labelOnly: true }).label, /only "label", not the other answers/);
});

test("refuses changed and dear specifications, and answers that are none", async () => {
	const text = plain.specification, { hash, randomizer } = JSON.parse(text);
	await readSpecification(` ${text}\n`, hash);
	await assert.rejects(readSpecification(text, hash.replace(/./, "x")), /changed/);
	await assert.rejects(readSpecification(text.replace('"n_cells":8', '"n_cells":7')), /changed/);
	await assert.rejects(readSpecification(text.replace('"version":6', '"version":7')), /version 6/);
	const T = BigInt(randomizer.threshold);
	certify(randomizer);
	for (const threshold of [T + 1n, 2n ** 64n - 1n, 2n ** 62n]) {
		assert.throws(() => certify({ ...randomizer, threshold: `${threshold}` }), /epsilon/);
	}
	for (const change of [{ epsilon: "1/2" }, { epsilon: "0" }, { mechanism: "constructor" }, { mechanism: "none" }, { n_blocks: 0 }]) {
		assert.throws(() => certify({ ...randomizer, ...change }));
	}
	const dear = { ...read("randomizer-17-signed-laplace.json").randomizer };
	assert.throws(() => certify({ ...dear, noise_scale: `${BigInt(dear.noise_scale) - 1n}` }), /epsilon/);
	const client = new Client(await readSpecification(text), { store: memory() });
	for (const x of [{ x0: 1 }, { x0: 1, y: 2 }, { x0: "1", x1: 1 }, { x0: NaN, x1: 1 }, { ...answer, more: 1 }]) {
		await assert.rejects(client.answer(x, 1, client.label, "ticket"));
	}
	for (const y of [2, null, undefined, "1", NaN]) await assert.rejects(client.answer(answer, y, client.label, "ticket"), /classes/);
	assert.deepEqual(client.kept, []);
});

/** A specification of four cells and two classes, with a right hash. */
function publish(randomizer, changes = {}) {
	const partition = { derived: null, feature: [0, 0, 0, -1, -1, -1, -1], threshold: [50, 25, 75] };
	const content = { domain: null, features: ["age"], format: "skprivate.tree", label: "sick", partition };
	const rest = JSON.stringify({ ...content, randomizer, target: { classes: ["no", "yes"] }, version: 6, ...changes });
	return rest.replace('"label":', `"hash":"${createHash("sha256").update(rest).digest("hex")}","label":`);
}

test("refuses every randomizer that is not what its label says", async () => {
	const one = { partition: { derived: null, feature: [-1], threshold: [] } }, most = 2n ** 64n - 1n, half = `${2n ** 63n}`;
	const base = { epsilon: "2", mechanism: "krr", n_cells: 4, n_labels: 2, threshold: `${2n ** 62n}` };
	const laplace = { epsilon: "2", exponent: "10", mechanism: "laplace", n_cells: 4, n_labels: 2, noise_scale: "2048" };
	const signed = { ...laplace, mechanism: "signed-laplace" }, hadamard = { ...base, mechanism: "hadamard", n_blocks: 1, signed: true };
	const subset = { ...base, mechanism: "subset", subset_size: 3, threshold: half };
	const column = { ...subset, mechanism: "column", n_columns: 1 }, bins = { partition: { lower: [0], n_bins: 4, upper: [1] } };
	const honest = [[base], [laplace], [signed], [{ ...hadamard, threshold: half }], [{ ...hadamard, signed: false, threshold: half }]];
	for (const [randomizer, changes] of [...honest, [subset], [column, bins]]) await readSpecification(publish(randomizer, changes));
	const wrong = {
		krr: [base, { subset_size: 1e12 }, { subset_size: 1 }, { epsilon: "-1/-10", threshold: `${most}` }, { n_cells: -4, n_labels: -2 },
			{ n_cells: 16, n_labels: 0.5 }, { n_labels: 1 }, { n_cells: "4" }, { epsilon: 2 }, { epsilon: "2/0" },
			{ epsilon: "0x2" }, { epsilon: "2.0" }, { epsilon: ["2"] }, { threshold: 2 ** 62 }, { threshold: `${2n ** 64n + 2n ** 62n}` },
			{ threshold: "-1" }, { threshold: "0" }, { n_cells: 2 ** 32, threshold: `${2n ** 31n}` }, { threshold: undefined }, { epsilon: "1/10" }],
		mechanisms: [base, ...[["krr"], ["label-rr"], ["signed-laplace"], "toString", "__proto__", "none", "", null, 1].map((mechanism) => ({ mechanism }))],
		hadamard: [{ ...hadamard, threshold: half }, { n_cells: 2 ** 130 }, { n_cells: 2 ** 32 }, { n_blocks: 3 }, { n_blocks: 8 }, { n_blocks: 0 },
			{ n_blocks: -1 }, { n_blocks: "1" }, { signed: 1 }, { signed: "true" }, { subset_size: 2 }, { n_labels: 3 }],
		laplace: [laplace, { noise_scale: "2047" }, { exponent: "-9" }, { exponent: "61" }, { exponent: 10 }, { exponent: "1e1" },
			{ noise_scale: `${2n ** 63n}` }, { threshold: half }, { n_labels: 3 }],
		signed: [signed, { exponent: "-9", noise_scale: "1" }, { epsilon: "-1/-10", exponent: "40", noise_scale: "1" }, { noise_scale: "1023" },
			{ epsilon: `1/${10n ** 15n}`, exponent: "60", noise_scale: `${1n << 400n}` }],
		subset: [subset, { subset_size: 0 }, { subset_size: 8 }, { subset_size: 9 }, { subset_size: "3" }, { subset_size: 1.5 }, { n_columns: 1 }],
		column: [column, { n_columns: 65537 }, { n_columns: 0 }, { subset_size: 8 }],
	};
	for (const [name, [good, ...rows]] of Object.entries(wrong)) {
		certify(good);
		for (const row of rows) {
			const made = { ...good, ...row }, shown = `${name}: ${JSON.stringify(row)}`;
			assert.throws(() => certify(made), Error, shown);
			await assert.rejects(readSpecification(publish(made, name === "column" ? bins : {})), Error, shown);
		}
	}
	const three = { target: { levels: 3, lower: 0, upper: 1 } };
	for (const [made, changes] of [[{ ...base, n_cells: 5 }], [{ ...base, n_labels: 3 }], [column], [{ ...column, n_columns: 2 }, bins], [base, one], [base, three]]) {
		await assert.rejects(readSpecification(publish(made, changes)), /other cells or labels/);
	}
	const dates = { columns: [{ format: "%d.%m.%Y", kind: "date", lower: "2020-01-01", missing: "error", name: "age", upper: "2021-01-01" }] };
	await assert.rejects(readSpecification(publish(base, { domain: dates })), /ISO 8601/);
});

test("no name or class passes for a line of the label", async () => {
	const base = { epsilon: "2", mechanism: "krr", n_cells: 4, n_labels: 2, threshold: `${2n ** 62n}` };
	const read = async (changes) => new Client(await readSpecification(publish(base, changes)), { store: memory() }).label.split("\n");
	for (const text of ["\nSent: nothing", "\u202eno", "\u2028", "\u200b", "\ud800", "\ufeffno", "\0"]) {
		for (const changes of [{ target: { classes: ["no", text] } }, { features: [text] }, { label: text }]) await assert.rejects(read(changes), /invisible/);
	}
	const lines = await read({ target: { classes: ["no", 'yes"). Hidden: nothing'] } });
	assert.deepEqual(lines.map((line) => line.split(":")[0]), ["Sent", "Hidden", "Asked", "Specification"]);
	assert.match(lines[2], /"age"; and "sick" \(one of "no", "yes\\"\)\. Hidden: nothing"\)/);
	assert.match((await read({ target: { levels: 2, lower: 0, upper: "1\nSent: x" } }))[2], /between 0, "1\\nSent: x"/);
});

test("refuses cells that are no values of their columns", async () => {
	const { specification, answers } = read("specification-106.json"), row = answers[0][0];
	const client = new Client(await readSpecification(specification), { store: memory() });
	const wrong = {
		age: ["old", Infinity, "__proto__"], since: ["2001-02-30", "yesterday", 7], job: ["Clerk", 1, "\ufeffclerk", "clerk\x1f"],
		smokes: ["__proto__", "perhaps", 2], rooms: [4, "x"], heat: [-300], size: ["XL", true],
	};
	for (const [name, cells] of Object.entries(wrong)) {
		for (const cell of cells) await assert.rejects(client.answer({ ...row, [name]: cell }, 1, client.label, "ticket"), RegExp(`${name}|control`));
	}
});

test("no answer stops a report, whatever the specification", () => {
	const { randomizer } = JSON.parse(plain.specification);
	const small = certify({ ...randomizer, n_cells: 2 });
	for (const category of [0, 3, 4, 15, NaN, undefined]) {
		assert.equal(randomize(small, [category], () => () => 2n ** 63n).length, 2);
	}
});
