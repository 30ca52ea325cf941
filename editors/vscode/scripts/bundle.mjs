// Bundles the extension into one file, and copies files that the package needs from the repository's root.
import { build } from 'esbuild';
import { copyFile } from 'node:fs/promises';

const root = new URL('../../../', import.meta.url);
const here = new URL('../', import.meta.url);

for (const file of ['LICENSE', 'ag-lsp.schema.json']) {
    await copyFile(new URL(file, root), new URL(file, here));
}

await build({
    absWorkingDir: decodeURIComponent(here.pathname),
    entryPoints: ['src/extension.ts'],
    outfile: 'dist/extension.js',
    bundle: true,
    external: ['vscode'],
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    minify: process.argv.includes('--minify'),
    sourcemap: !process.argv.includes('--minify'),
});
