// Checks the sizes of the built page: initial load 120 KB, a lazy chunk 80 KB (both gzip), all of dist 900 KB raw.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const dist = fileURLToPath(new URL('../../crates/answerback-web/dist/', import.meta.url));
const INITIAL = 120 * 1024;
const CHUNK = 80 * 1024;
const ALL = 900 * 1024;
const packed = (name) => gzipSync(readFileSync(dist + name), { level: 9 }).length;

const names = ['index.html', ...readdirSync(`${dist}assets`).map((name) => `assets/${name}`)];
const page = readFileSync(`${dist}index.html`, 'utf8');
const first = ['index.html', ...[...page.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((match) => match[1])];
// The inbox is the first page, so its chunks are reported too, but they are not part of the budget.
const initial = first.reduce((sum, name) => sum + packed(name), 0);
const all = names.reduce((sum, name) => sum + readFileSync(dist + name).length, 0);
const largest = names.filter((name) => !first.includes(name)).map((name) => ({ name, size: packed(name) })).sort((one, other) => other.size - one.size)[0];
const kb = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;
const lines = [
  ['initial load, gzip', initial, INITIAL],
  [`largest lazy chunk, gzip (${largest?.name})`, largest?.size ?? 0, CHUNK],
  ['all of dist, raw', all, ALL],
];
for (const [title, size, most] of lines) console.log(`${size <= most ? 'ok  ' : 'over'} ${title}: ${kb(size)} of ${kb(most)}`);
process.exitCode = lines.some(([, size, most]) => size > most) ? 1 : 0;
