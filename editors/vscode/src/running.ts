/**
 * Runs programs of the workspace. Requires a trusted workspace and saved files.
 */
import * as vscode from 'vscode';
import { activeInterpreter } from './environments';

const NOT_TRUSTED = 'ag-lsp: cannot run code in an untrusted workspace.';

/** Whether the workspace is trusted. Warns the user otherwise. */
export function mayRun(): boolean {
    if (!vscode.workspace.isTrusted) {
        void vscode.window.showWarningMessage(NOT_TRUSTED, 'Manage Trust').then(choice => {
            if (choice !== undefined) {
                void vscode.commands.executeCommand('workbench.trust.manage');
            }
        });
    }
    return vscode.workspace.isTrusted;
}

/** Saves a document that has changes. False if it was not saved. */
export async function ensureSaved(uri: vscode.Uri): Promise<boolean> {
    const document = vscode.workspace.textDocuments.find(open => open.uri.toString() === uri.toString());
    return document === undefined || !(document.isDirty || document.isUntitled) || document.save();
}

/** Runs a program in a terminal with `ag-lsp run`. */
export async function run(binary: string | undefined, target?: { uri: string }): Promise<void> {
    const uri = target === undefined ? vscode.window.activeTextEditor?.document.uri : vscode.Uri.parse(target.uri);
    if (binary === undefined || uri?.scheme !== 'file' || !mayRun() || !(await ensureSaved(uri))) {
        return;
    }
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    const python = await activeInterpreter(uri);
    const args = ['run', ...(python === undefined ? [] : ['--python', python]), '--', uri.fsPath];
    // A process without a shell: paths need no quoting.
    const process = new vscode.ProcessExecution(binary, args, folder && { cwd: folder.uri.fsPath });
    const name = vscode.workspace.asRelativePath(uri, false);
    const scope = folder ?? vscode.TaskScope.Workspace;
    const task = new vscode.Task({ type: 'process', program: uri.fsPath }, scope, name, 'ag-lsp', process, []);
    task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, focus: false, clear: true };
    await vscode.tasks.executeTask(task);
}
