/**
 * Which `ag-lsp` is started. Knows the order of the places, and nothing of VS Code.
 */
import { isAbsolute, join } from 'node:path';

export type Origin = 'setting' | 'environment' | 'PATH' | 'bundled';

export interface Binary {
    path: string;
    origin: Origin;
}

export interface Places {
    /** The setting `ag-lsp.path`; empty when not set. */
    setting: string;
    /** The folders of the Python environments that belong to the workspace, the active one first. */
    environments: string[];
    /** Whether what the workspace names may be started. */
    trusted: boolean;
    /** The value of the variable `PATH`. */
    path: string;
    /** The folder of the extension. */
    extension: string;
    windows: boolean;
    isFile(path: string): boolean;
}

/** The first `ag-lsp` in the order setting, environment, PATH, bundled; undefined where there is none. */
export function findBinary(places: Places): Binary | undefined {
    const name = places.windows ? 'ag-lsp.exe' : 'ag-lsp';
    const scripts = places.windows ? 'Scripts' : 'bin';
    // A setting that names no file is a mistake to be told of, not to be passed over.
    if (places.trusted && places.setting !== '') {
        return { path: places.setting, origin: 'setting' };
    }
    const candidates: Binary[] = [];
    if (places.trusted) {
        for (const environment of places.environments) {
            candidates.push({ path: join(environment, scripts, name), origin: 'environment' });
        }
    }
    for (const folder of places.path.split(places.windows ? ';' : ':')) {
        // A relative folder on the PATH would be looked for in the workspace.
        if (isAbsolute(folder)) {
            candidates.push({ path: join(folder, name), origin: 'PATH' });
        }
    }
    candidates.push({ path: join(places.extension, 'bundled', name), origin: 'bundled' });
    return candidates.find(candidate => places.isFile(candidate.path));
}
