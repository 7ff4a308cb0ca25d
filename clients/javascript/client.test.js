// SPDX-License-Identifier: BSD-3-Clause
/** node --test: the shared vectors, and what a client refuses. */
import assert from "node:assert/strict";
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
	await assert.rejects(client.answer(answer, 1, "another label"), /show the label/);
	assert.equal(client.drawn, null);
	await client.answer(answer, 1, client.label);
	const first = client.drawn, sent = [];
	globalThis.fetch = async (url, { body, headers }) => {
		sent.push(hex(body));
		if (sent.length === 1) throw new TypeError("offline");
		assert.equal(headers.authorization, "Bearer ticket");
		return { status: 204 };
	};
	await assert.rejects(client.send("/reports", "ticket"), /offline/);
	const again = new Client(specification, { store });
	for (let i = 0; i < 50; i++) await again.answer({ x0: "not looked at" }, 0, again.label);
	await again.send("/reports", "ticket");
	assert.deepEqual(sent, [first, first]);
	globalThis.fetch = async () => ({ status: 409 });
	await assert.rejects(again.send("/reports", "ticket"), /409/);
});

test("keeps the report of another window", async () => {
	const kept = [], looks = [null];
	const store = { getItem: () => (looks.length ? looks.pop() : "0100"), setItem: (_, value) => kept.push(value) };
	const client = new Client(await readSpecification(plain.specification), { store });
	await client.answer(answer, 1, client.label);
	assert.deepEqual([kept, client.drawn], [[], "0100"]);
});

test("draws nothing where it cannot be kept", async () => {
	const client = new Client(await readSpecification(plain.specification), { store: { getItem: () => null, setItem() {} } });
	await assert.rejects(client.answer(answer, 1, client.label), /not stored/);
});

test("shows what is asked, and what is not hidden", async () => {
	const { label } = new Client(await readSpecification(words.specification), { store: memory() });
	for (const part of ["x0, x1", "class 0, class 1", "epsilon 2", "7.39 times", "Hidden: all answers"]) assert.match(label, RegExp(part));
	const specification = await readSpecification(labelOnly.specification);
	assert.throws(() => new Client(specification, { store: memory() }), /label alone/);
	assert.match(new Client(specification, { store: memory(), labelOnly: true }).label, /label alone; the others show/);
});

test("refuses changed and dear specifications, and answers that are none", async () => {
	const text = plain.specification, { hash, randomizer } = JSON.parse(text);
	await readSpecification(` ${text}\n`, hash);
	await assert.rejects(readSpecification(text, hash.replace(/./, "x")), /changed/);
	await assert.rejects(readSpecification(text.replace('"n_cells":8', '"n_cells":7')), /changed/);
	await assert.rejects(readSpecification(text.replace('"version":6', '"version":7')), /version 6/);
	const T = BigInt(randomizer.threshold);
	certify(randomizer);
	for (const threshold of [T + 1n, 2n ** 64n - 1n, 2n ** 62n, 0n, -T]) {
		assert.throws(() => certify({ ...randomizer, threshold: `${threshold}` }), /epsilon/);
	}
	for (const change of [{ epsilon: "1/2" }, { epsilon: "0" }, { mechanism: "constructor" }, { mechanism: "none" }, { n_blocks: 0 }]) {
		assert.throws(() => certify({ ...randomizer, ...change }));
	}
	const dear = { ...read("randomizer-17-signed-laplace.json").randomizer };
	assert.throws(() => certify({ ...dear, noise_scale: `${BigInt(dear.noise_scale) - 1n}` }), /epsilon/);
	const client = new Client(await readSpecification(text), { store: memory() });
	for (const x of [{ x0: 1 }, { x0: 1, y: 2 }, { x0: "1", x1: 1 }, { x0: NaN, x1: 1 }, { ...answer, more: 1 }]) {
		await assert.rejects(client.answer(x, 1, client.label));
	}
	for (const y of [2, null, undefined, "1", NaN]) await assert.rejects(client.answer(answer, y, client.label), /classes/);
	assert.equal(client.drawn, null);
});

test("refuses cells that are no values of their columns", async () => {
	const { specification, answers } = read("specification-106.json"), row = answers[0][0];
	const client = new Client(await readSpecification(specification), { store: memory() });
	const wrong = {
		age: ["old", Infinity, "__proto__"], since: ["2001-02-30", "yesterday", 7], job: ["Clerk", 1],
		smokes: ["__proto__", "perhaps", 2], rooms: [4, "x"], heat: [-300], size: ["XL", true],
	};
	for (const [name, cells] of Object.entries(wrong)) {
		for (const cell of cells) await assert.rejects(client.answer({ ...row, [name]: cell }, 1, client.label), RegExp(name));
	}
});

test("no answer stops a report, whatever the specification", () => {
	const { randomizer } = JSON.parse(plain.specification);
	const small = certify({ ...randomizer, n_cells: 2 });
	for (const category of [0, 3, 4, 15, NaN, undefined]) {
		assert.equal(randomize(small, [category], () => () => 2n ** 63n).length, 2);
	}
});
