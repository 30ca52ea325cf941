/**
 * The Python environments of the workspace, which may contain an `ag-lsp` binary.
 */
import { join } from 'node:path';
import * as vscode from 'vscode';

/** The part of the Python extension's API that is used. */
interface PythonExtension {
    environments: { getActiveEnvironmentPath(resource?: vscode.Uri): { path: string } };
}

/** The environment selected in the Python extension, then `.venv` of each workspace folder. */
export async function environments(): Promise<string[]> {
    const folders = vscode.workspace.workspaceFolders ?? [];
    const active = await activeEnvironment(folders[0]?.uri);
    const onDisk = folders.filter(folder => folder.uri.scheme === 'file');
    const local = onDisk.map(folder => join(folder.uri.fsPath, '.venv'));
    return active === undefined ? local : [active, ...local];
}

async function activeEnvironment(resource: vscode.Uri | undefined): Promise<string | undefined> {
    const path = await activeInterpreter(resource);
    return path !== undefined && isInterpreter(path) ? join(path, '..', '..') : path;
}

/** The path selected in the Python extension: an environment folder or an interpreter. */
export async function activeInterpreter(resource: vscode.Uri | undefined): Promise<string | undefined> {
    const extension = vscode.extensions.getExtension<PythonExtension>('ms-python.python');
    if (extension === undefined) {
        return undefined;
    }
    const python = extension.isActive ? extension.exports : await extension.activate();
    return python.environments?.getActiveEnvironmentPath(resource).path;
}

function isInterpreter(path: string): boolean {
    return /[\\/]python[\d.]*(\.exe)?$/.test(path);
}
