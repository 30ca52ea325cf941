// Runs the tests of the modules that do not depend on VS Code.
import { build } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync } from 'node:fs';

const here = decodeURIComponent(new URL('../', import.meta.url).pathname);
mkdirSync(`${here}dist/test`, { recursive: true });
const tests = globSync('test/*.test.ts', { cwd: here }).sort();
await build({
    absWorkingDir: here,
    entryPoints: tests,
    outdir: 'dist/test',
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
});
const bundles = tests.map(test => `${here}dist/${test.replace(/\.ts$/, '.js')}`);
const run = spawnSync(process.execPath, ['--test', ...bundles], { stdio: 'inherit', cwd: here });
process.exit(run.status ?? 1);
