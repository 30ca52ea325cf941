import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBinary, type Places } from '../src/binary';

/** A machine on which `ag-lsp` is everywhere, but for what a test changes. */
function places(change: Partial<Places> & { without?: string[] } = {}): Places {
    const everywhere = ['/project/.venv/bin/ag-lsp', '/usr/bin/ag-lsp', '/extension/bundled/ag-lsp'];
    return {
        setting: '',
        environments: ['/project/.venv'],
        trusted: true,
        path: '/usr/local/bin:/usr/bin',
        extension: '/extension',
        windows: false,
        isFile: path => everywhere.includes(path) && !(change.without ?? []).includes(path),
        ...change,
    };
}

test('the setting comes first, also where it names no file', () => {
    assert.deepEqual(findBinary(places({ setting: '/mine/ag-lsp' })), { path: '/mine/ag-lsp', origin: 'setting' });
});

test('then the Python environment, the PATH, and the extension itself', () => {
    const order = ['/project/.venv/bin/ag-lsp', '/usr/bin/ag-lsp', '/extension/bundled/ag-lsp'];
    const origins = ['environment', 'PATH', 'bundled'];
    for (let gone = 0; gone < order.length; gone++) {
        assert.deepEqual(findBinary(places({ without: order.slice(0, gone) })), { path: order[gone], origin: origins[gone] });
    }
    assert.equal(findBinary(places({ without: order })), undefined);
});

test('nothing that an untrusted workspace names is started', () => {
    const found = findBinary(places({ trusted: false, setting: '/project/evil' }));
    assert.deepEqual(found, { path: '/usr/bin/ag-lsp', origin: 'PATH' });
});

test('a relative folder on the PATH is passed over', () => {
    const isFile = (path: string) => path === 'bin/ag-lsp' || path === '/extension/bundled/ag-lsp';
    assert.equal(findBinary(places({ environments: [], path: 'bin:.', isFile }))?.origin, 'bundled');
});

test('Windows has other names', () => {
    const isFile = (path: string) => /Scripts.ag-lsp\.exe$/.test(path);
    assert.equal(findBinary(places({ windows: true, path: '', isFile }))?.origin, 'environment');
});
