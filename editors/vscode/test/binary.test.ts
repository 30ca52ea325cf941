import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBinary, type SearchPaths } from '../src/binary';

/** Search paths with three copies of `ag-lsp`, except the files in `without`. `change` replaces other properties. */
function paths(change: Partial<SearchPaths> & { without?: string[] } = {}): SearchPaths {
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

test('the setting comes first, even if it names no file', () => {
    assert.deepEqual(findBinary(paths({ setting: '/mine/ag-lsp' })), { path: '/mine/ag-lsp', origin: 'setting' });
});

test('then the Python environment, the PATH, and the extension itself', () => {
    const order = ['/project/.venv/bin/ag-lsp', '/usr/bin/ag-lsp', '/extension/bundled/ag-lsp'];
    const origins = ['environment', 'PATH', 'bundled'];
    for (let gone = 0; gone < order.length; gone++) {
        assert.deepEqual(findBinary(paths({ without: order.slice(0, gone) })), { path: order[gone], origin: origins[gone] });
    }
    assert.equal(findBinary(paths({ without: order })), undefined);
});

test('binaries from an untrusted workspace are not started', () => {
    const found = findBinary(paths({ trusted: false, setting: '/project/evil' }));
    assert.deepEqual(found, { path: '/usr/bin/ag-lsp', origin: 'PATH' });
});

test('relative folders on the PATH are skipped', () => {
    const isFile = (path: string) => path === 'bin/ag-lsp' || path === '/extension/bundled/ag-lsp';
    assert.equal(findBinary(paths({ environments: [], path: 'bin:.', isFile }))?.origin, 'bundled');
});

test('Windows has different names', () => {
    const isFile = (path: string) => /Scripts.ag-lsp\.exe$/.test(path);
    assert.equal(findBinary(paths({ windows: true, path: '', isFile }))?.origin, 'environment');
});
