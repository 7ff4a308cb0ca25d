// SPDX-License-Identifier: BSD-3-Clause
/**
 * Simulated browsers, one a token: node simulate.js ADDRESS tokens.txt "() => [{ age: 100 * Math.random() }, 'no']"
 * The function returns the values of one person's columns, and of the target.
 */
import { readFileSync } from "node:fs";
import { Client, readSpecification } from "./skprivate-client.js";
import "./more.js";

const [address, tokens, person] = process.argv.slice(2);
const live = new Function(`return ${person}`)();
const specification = await readSpecification(await (await fetch(new URL("specification", address))).text());
const waiting = readFileSync(tokens, "utf8").trim().split("\n"), n = waiting.length;

async function browser() {
	for (let token; (token = waiting.pop()); ) {
		const held = new Map();
		const store = { getItem: (key) => held.get(key) ?? null, setItem: (key, value) => held.set(key, value) };
		const client = new Client(specification, { store });
		await client.answer(...live(), client.label, token);
		await client.send(new URL("reports", address), token);
	}
}
await Promise.all(Array.from({ length: 50 }, browser));
console.log(`${n} people have answered`);
