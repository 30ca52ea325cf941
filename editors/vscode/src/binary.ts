/**
 * Finds the `ag-lsp` binary. Independent of VS Code.
 */
import { isAbsolute, join } from 'node:path';

export type Origin = 'setting' | 'environment' | 'PATH' | 'bundled';

export interface Binary {
    path: string;
    origin: Origin;
}

export interface SearchPaths {
    /** The setting `ag-lsp.path`; empty when not set. */
    setting: string;
    /** The folders of the Python environments that belong to the workspace, the active one first. */
    environments: string[];
    /** Whether the workspace is trusted. */
    trusted: boolean;
    /** The value of the variable `PATH`. */
    path: string;
    /** The folder of the extension. */
    extension: string;
    windows: boolean;
    isFile(path: string): boolean;
}

/** The first `ag-lsp` in the order setting, environment, PATH, bundled. */
export function findBinary(paths: SearchPaths): Binary | undefined {
    const name = paths.windows ? 'ag-lsp.exe' : 'ag-lsp';
    const scripts = paths.windows ? 'Scripts' : 'bin';
    // Do not skip a setting that names no file: starting it reports the mistake.
    if (paths.trusted && paths.setting !== '') {
        return { path: paths.setting, origin: 'setting' };
    }
    const candidates: Binary[] = [];
    if (paths.trusted) {
        for (const environment of paths.environments) {
            candidates.push({ path: join(environment, scripts, name), origin: 'environment' });
        }
    }
    for (const folder of paths.path.split(paths.windows ? ';' : ':')) {
        // A relative folder on the PATH would be resolved in the workspace.
        if (isAbsolute(folder)) {
            candidates.push({ path: join(folder, name), origin: 'PATH' });
        }
    }
    candidates.push({ path: join(paths.extension, 'bundled', name), origin: 'bundled' });
    return candidates.find(candidate => paths.isFile(candidate.path));
}
