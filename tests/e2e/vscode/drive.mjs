// Starts VS Code with the extension and its companion, opens the window, takes screenshots, and prints a summary.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Arguments select steps; the default is all.
const [tools, ...steps] = process.argv.slice(2);
const { chromium } = createRequire(join(tools, 'vscode-host', 'package.json'))('playwright-core');
const program = join(tools, 'vscode-host', 'node_modules', 'code-server', 'out', 'node', 'entry.js');
const screenshots = join(tools, 'screenshots');
const LIMIT = 600_000;

const scratch = mkdtempSync(join(tmpdir(), 'ag-lsp-vscode-'));
const folder = name => join(scratch, name);
cpSync(new URL('../project', import.meta.url), folder('project'), { recursive: true });
mkdirSync(folder('scenario'));
mkdirSync(join(folder('user'), 'User'), { recursive: true });
mkdirSync(join(folder('user'), 'Machine'));
rmSync(screenshots, { recursive: true, force: true });
mkdirSync(screenshots);
// `ag-lsp.path` has machine scope.
writeFileSync(join(folder('user'), 'Machine', 'settings.json'), JSON.stringify({ 'ag-lsp.path': process.env.AG_LSP }));
writeFileSync(
    join(folder('user'), 'User', 'settings.json'),
    JSON.stringify({
        'chat.disableAIFeatures': true,
        'editor.minimap.enabled': false,
        'extensions.ignoreRecommendations': true,
        'security.workspace.trust.enabled': false,
        'telemetry.telemetryLevel': 'off',
        'workbench.colorTheme': 'Default Dark Modern',
        'workbench.secondarySideBar.defaultVisibility': 'hidden',
        'workbench.startupEditor': 'none',
        'workbench.tips.enabled': false,
    }),
);
const common = ['--config', folder('config.yaml'), '--user-data-dir', folder('user'), '--extensions-dir', folder('extensions')];
const runtime = { VIRTUAL_ENV: join(tools, '..', 'torch'), PYTHONPATH: join(tools, '..', '..', 'runtime', 'python') };
const environment = { ...process.env, ...runtime, AG_LSP_SCENARIO: folder('scenario'), AG_LSP_STEPS: steps.join(',') };

for (const package_ of ['ag-lsp.vsix', 'companion.vsix']) {
    const installing = [program, ...common, '--install-extension', join(tools, package_)];
    const installed = spawnSync(process.execPath, installing, { encoding: 'utf8' });
    if (installed.status !== 0) {
        throw new Error(`${package_} could not be installed:\n${installed.stdout}${installed.stderr}`);
    }
}

/** A free port. */
const port = await new Promise(resolve => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
        const { port } = probe.address();
        probe.close(() => resolve(port));
    });
});

const pause = () => new Promise(resolve => setTimeout(resolve, 100));
const end = Date.now() + LIMIT;
const quiet = ['--auth', 'none', '--disable-telemetry', '--disable-update-check', '--disable-workspace-trust'];
const address = `127.0.0.1:${port}`;
const host = spawn(process.execPath, [program, ...common, ...quiet, '--bind-addr', address, folder('project')], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
});
/** Waits until the window or a frame in it contains `text` and rendering has finished. Returns the page or frame. */
async function shown(page, text) {
    const containing = async () => {
        const frames = page.frames();
        const texts = frames.map(frame => frame.locator('body').textContent({ timeout: 1000 }).catch(() => ''));
        const at = (await Promise.all(texts)).findIndex(body => body.includes(text));
        return frames[at];
    };
    let frame = await containing();
    for (let tries = 0; tries < 300 && frame === undefined; tries++) {
        await pause();
        frame = await containing();
    }
    await page.waitForTimeout(1000);
    return frame;
}

let said = '';
host.stdout.on('data', data => (said += data));
host.stderr.on('data', data => (said += data));
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
    while (!(await fetch(`http://${address}/healthz`).then(answer => answer.ok, () => false))) {
        if (host.exitCode !== null || Date.now() > end) {
            throw new Error(`VS Code did not start:\n${said}`);
        }
        await pause();
    }
    const page = await browser.newPage({ viewport: { width: 1400, height: 800 } });
    await page.goto(`http://${address}/?folder=${encodeURIComponent(folder('project'))}`);

    while (!existsSync(join(folder('scenario'), 'done')) && Date.now() < end) {
        for (const wanted of readdirSync(folder('scenario')).filter(name => /\.(wanted|click)$/.test(name))) {
            const name = wanted.replace(/\.(wanted|click)$/, '');
            if (!existsSync(join(folder('scenario'), `${name}.taken`))) {
                const text = readFileSync(join(folder('scenario'), wanted), 'utf8');
                const frame = await shown(page, text);
                if (wanted.endsWith('.click')) {
                    await frame.getByText(text).first().click();
                }
                await page.screenshot({ path: join(screenshots, `${name}.png`) });
                await page.keyboard.press('Escape');
                writeFileSync(join(folder('scenario'), `${name}.taken`), '');
            }
        }
        await pause();
    }
    if (!existsSync(join(folder('scenario'), 'done'))) {
        await page.screenshot({ path: join(screenshots, 'stuck.png') });
    }
} finally {
    await browser.close();
    host.kill();
}

const file = join(folder('scenario'), 'results.jsonl');
const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
const results = lines.map(line => JSON.parse(line));
if (!existsSync(join(folder('scenario'), 'done'))) {
    results.push({ name: 'the scenario to its end', failure: `not within ${LIMIT / 1000} s\n${said}` });
}
for (const { name, failure } of results) {
    console.log(failure === null ? `ok      ${name}` : `FAILED  ${name}\n${failure}`);
}
const failed = results.filter(({ failure }) => failure !== null).length;
if (failed > 0) {
    const logs = readdirSync(join(folder('user'), 'logs'), { recursive: true });
    for (const log of logs.filter(name => name.endsWith('ag-lsp.log'))) {
        console.log(readFileSync(join(folder('user'), 'logs', log), 'utf8'));
    }
}
console.log(`pictures in ${screenshots}`);
console.log(`test result: ${failed === 0 ? 'ok' : 'FAILED'}. ${results.length - failed} passed; ${failed} failed`);
rmSync(scratch, { recursive: true, force: true });
process.exit(failed === 0 ? 0 : 1);
